"""Words that exclude each other when the rest of two statements agrees.

Converses ("before" and "after", "buy" and "sell", "more" and "less") are left out: a paraphrase
may turn the sentence round with them. They are compared within aligned clauses only, by
``Language.opposites``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from grouse_adapters.lexical.text import plain, stem

# One line is a pair of sides; every word of one side excludes every word of the other.
_EXCLUSIVE: Final[Mapping[str, str]] = {
    "en": """
        increase rise grow raise more | decrease decline shrink reduce diminish less
        open opened | close closed shut
        accept approve admit grant | reject refuse decline deny
        allow permit authorise | forbid prohibit ban
        always invariably | never
        all every each everyone | none nobody
        hot warm | cold cool
        wet moist damp humid | dry arid
        high | low
        large big | small tiny
        long | short
        fast quick rapid | slow
        heavy | light lightweight
        thick | thin
        deep | shallow
        wide broad | narrow
        strong | weak feeble
        hard | soft
        rich | poor
        loud noisy | quiet silent
        early | late
        old ancient | new young
        upstream | downstream
        upwind | downwind
        uphill | downhill
        upper top | lower bottom
        north northern northward northwards | south southern southward southwards
        east eastern eastward eastwards | west western westward westwards
        left | right
        inside indoors interior inner | outside outdoors exterior outer
        clockwise | anticlockwise counterclockwise
        horizontal | vertical
        summer | winter
        spring | autumn
        morning | evening
        public | private
        male | female
        positive | negative
        legal lawful | illegal unlawful
        mandatory compulsory obligatory required | optional voluntary
        permanent | temporary
        success succeed | failure fail
        maximum | minimum
        enable enabled | disable disabled
        include included | exclude excluded
        expand swell widen lengthen extend | contract shrink narrow shorten
        freeze froze | melt thaw
        attract | repel
        safe harmless | dangerous harmful poisonous toxic
        alive living | dead
        married | single unmarried
        natural | artificial
        sweet | sour bitter
        acid acidic | alkaline
        empty | full
        clean | dirty
        true | false
        visible | invisible
        reversible | irreversible
        mostly mainly chiefly predominantly largely | hardly scarcely barely
        often frequently regularly usually | rarely seldom
        encourage promote | discourage deter hinder
        improve better | worsen deteriorate worse
        strengthen | weaken
        accelerate | slow delay
        advance | retreat
        oldest eldest earliest | youngest newest latest
        largest biggest greatest | smallest
        highest tallest | lowest
        longest | shortest
        cheapest | dearest
        paid | unpaid
        known | unknown
        same identical | different
        ascend | descend
        tighten tightened | loosen loosened
        lock locked | unlock unlocked
        sunrise dawn | sunset dusk
        noon midday | midnight
        weekday weekdays | weekend weekends
    """,
    "fr": """
        augmenter augmente augmentation hausse croitre | diminuer diminue baisse baisser
        ouvrir ouvre ouvert ouverte ouverture | fermer ferme fermee fermeture refermer
        accepter accepte admettre | refuser refuse rejeter rejete
        autoriser autorise permis permettre | interdire interdit interdite
        toujours | jamais
        tous toutes chacun | aucun aucune
        chaud chaude chauffer | froid froide refroidir
        sec seche | humide mouille
        haut haute eleve elevee | bas basse faible
        grand grande gros | petit petite
        long longue | court courte
        rapide vite | lent lente lentement
        lourd lourde | leger legere
        epais epaisse | mince fin
        profond profonde | superficiel
        fort forte | faible
        dur dure | mou molle tendre
        riche | pauvre
        clair claire | sombre obscur
        ancien vieux vieille | nouveau neuf nouvelle jeune
        amont | aval
        superieur superieure dessus | inferieur inferieure dessous
        nord | sud
        est oriental orientale | ouest occidental occidentale
        gauche | droite
        interieur dedans | exterieur dehors
        horizontal | vertical
        ete | hiver
        printemps | automne
        matin | soir
        public publique | prive privee
        positif | negatif
        legal | illegal
        obligatoire | facultatif facultative
        permanent definitif | temporaire provisoire
        succes reussir reussite | echec echouer
        maximum maximal | minimum minimal
        inclus inclure compris | exclu exclure
        geler gel | degeler degel fondre
        apparaitre | disparaitre
        dangereux nocif toxique | inoffensif
        vivant | mort
        naturel | artificiel
        acide | basique alcalin
        vide | plein pleine
        gratuit gratuite | payant payante
        souvent frequemment | rarement
        beaucoup fortement | guere peu
        aube | crepuscule
        midi | minuit
        avancer | reculer
        serrer | desserrer
        ameliorer | aggraver
        accelerer | ralentir
        humide | sec
    """,
    "de": """
        steigen steigt erhohen erhoht zunehmen zunahme | sinken sinkt senken fallen abnehmen abnahme
        offnen offnet offen geoffnet | schliessen schliesst geschlossen
        annehmen angenommen | ablehnen abgelehnt
        erlauben erlaubt | verbieten verboten
        immer stets | nie niemals
        alle jeder | keiner niemand
        heiss warm | kalt kuhl
        nass feucht | trocken
        hoch hohe | niedrig tief
        gross grosse | klein kleine
        lang lange | kurz kurze
        schnell rasch | langsam
        schwer | leicht
        dick | dunn
        breit | schmal eng
        stark | schwach
        hart | weich
        alt | neu jung
        stromaufwarts flussaufwarts | stromabwarts flussabwarts
        obere oben | untere unten
        norden nordlich | suden sudlich
        osten ostlich | westen westlich
        links linke | rechts rechte
        innen | aussen
        sommer | winter
        morgens morgen | abends abend
        offentlich | privat
        verpflichtend vorgeschrieben | freiwillig
        maximal hochstens | minimal mindestens
        oft haufig | selten
        kostenlos | kostenpflichtig
    """,
}


@lru_cache(maxsize=16)
def excluded(code: str) -> Mapping[str, frozenset[str]]:
    """Per stem, the stems that exclude it; empty for a language without a list."""
    found: dict[str, set[str]] = {}
    for line in _EXCLUSIVE.get(code, "").split("\n"):
        if "|" not in line:
            continue
        left, right = (
            {stem(plain(word), code) for word in side.split()} for side in line.split("|")
        )
        for one, other in ((left, right), (right, left)):
            for word in one - other:
                found.setdefault(word, set()).update(other - one)
    return MappingProxyType({word: frozenset(others) for word, others in found.items()})
