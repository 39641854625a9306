"""Small word lists of the seven languages the lexical judge reads.

All words are lower case and without accents, as ``text.plain`` returns them. A language without
lists is still read: its words are compared as they stand, without stems.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True)
class Language:
    """What the judge knows of one language.

    Attributes:
        stemmer: name of the Snowball algorithm.
        splitter: pysbd's code of the language, or of its closest relative there.
        function_words: words without content of their own.
        negations: words that turn a clause round.
        low: words for a small degree or share.
        high: words for a large degree or share.
        opposites: pairs of words that cannot both hold.
        numbers: number words and their value.
        scales: words that multiply the number before them.
        hedges: words that make a number approximate.
        passives: words that show that subject and object may have changed places.
        capital_nouns: every noun has a capital, so capitals do not show names.
        negates_backwards: the negation may follow its verb.
    """

    stemmer: str
    splitter: str
    function_words: frozenset[str]
    negations: frozenset[str]
    low: frozenset[str]
    high: frozenset[str]
    opposites: tuple[tuple[str, str], ...]
    numbers: Mapping[str, float]
    scales: Mapping[str, float]
    hedges: frozenset[str]
    passives: frozenset[str]
    capital_nouns: bool = False
    negates_backwards: bool = False


def word_set(text: str) -> frozenset[str]:
    """The words of a list written as one text."""
    return frozenset(text.split())


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    pairs = (pair.split("/") for pair in text.split())
    return tuple((left, right) for left, right in pairs)


def word_pairs(text: str) -> dict[str, str]:
    """A table written as ``form>base`` pairs in one text."""
    return dict(pair.split(">", 1) for pair in text.split())


def word_values(text: str) -> Mapping[str, float]:
    pairs = (item.split("=") for item in text.split())
    return MappingProxyType({word: float(value) for word, value in pairs})


_ENGLISH: Final = Language(
    stemmer="english",
    splitter="en",
    function_words=word_set(
        "a about after again all also although always am among an and another any are around as "
        "at away be became because become been before being below between both but by can could "
        "did do does doing down during each either else even ever every few first for from "
        "further gave get gets give given gives go goes going got had has have having he hence "
        "her here hers him his how however i if in instead into is it its itself just kind last "
        "latter least less let like made main make makes making many may me might more moreover "
        "most much must my near nearly neither next no nor not now of off often on once one only "
        "onto or other others our out over own part per perhaps quite rather same see seem seems "
        "several shall she should since so some something soon still such take taken takes than "
        "that the their them themselves then there therefore these they thing things this those "
        "though through thus to together too toward towards under unless until up upon us used "
        "use uses using usually various very via was way we well went were what when where "
        "whereas whether which while who whom whose why will with within without would yet you "
        "your yours approximately roughly according document documents reference references "
        "source sources passage passages says said say states mention mentions mentioned"
    ),
    negations=word_set("no not never none neither nor without nobody nothing nowhere cannot"),
    low=word_set(
        "little hardly barely scarcely slightly negligible negligibly minor marginal marginally "
        "weakly minimal minimally insignificant insignificantly seldom rarely"
    ),
    high=word_set(
        "heavily strongly greatly highly largely mostly mainly significantly considerably "
        "substantially major crucial crucially essential decisive vital enormously very "
        "predominantly chiefly"
    ),
    opposites=_pairs(
        "increase/decrease rise/fall grow/shrink gain/loss higher/lower before/after above/below "
        "always/never allowed/forbidden permitted/prohibited accepted/rejected included/excluded "
        "open/closed hot/cold warmer/colder largest/smallest biggest/smallest longest/shortest "
        "highest/lowest maximum/minimum oldest/youngest oldest/newest earliest/latest "
        "north/south northern/southern east/west eastern/western left/right male/female "
        "import/export success/failure mandatory/optional compulsory/optional required/optional "
        "legal/illegal public/private positive/negative faster/slower stronger/weaker "
        "summer/winter morning/evening all/none everyone/nobody approved/refused safe/dangerous "
        "inside/outside upwind/downwind upstream/downstream clockwise/anticlockwise dry/wet "
        "odd/even sooner/later older/younger more/fewer heavier/lighter cheaper/dearer "
        "reversible/irreversible voluntary/compulsory raise/lower expand/contract"
    ),
    numbers=word_values(
        "zero=0 one=1 two=2 three=3 four=4 five=5 six=6 seven=7 eight=8 nine=9 ten=10 eleven=11 "
        "twelve=12 thirteen=13 fourteen=14 fifteen=15 sixteen=16 seventeen=17 eighteen=18 "
        "nineteen=19 twenty=20 thirty=30 forty=40 fifty=50 sixty=60 seventy=70 eighty=80 "
        "ninety=90 dozen=12 score=20 threescore=60 couple=2"
    ),
    scales=word_values("hundred=100 thousand=1e3 million=1e6 billion=1e9 trillion=1e12"),
    hedges=word_set(
        "about around roughly approximately nearly almost some circa ca approx close near over "
        "under so just than short quite odd upwards barely scarcely hardly"
    ),
    passives=word_set("by was were been is are being from"),
)

_FRENCH: Final = Language(
    stemmer="french",
    splitter="fr",
    function_words=word_set(
        "a afin ai ainsi alors apres au aucun aucune aussi autre autres aux avant avec avoir bien "
        "c car ce ceci cela celle celles celui ces cet cette ceux chaque chez comme comment d "
        "dans de depuis des deux donc dont du elle elles en encore entre est et etait etaient "
        "ete etre eu eux fait font il ils j jusqu jusque l la le les leur leurs lors lorsque lui "
        "m mais me meme memes moins mon ne ni non nos notre nous on ont ou par parce pas pendant "
        "peu peut peuvent plus plusieurs pour pourquoi qu quand que quel quelle quelles quels qui "
        "quoi s sa sans se selon sera ses si soit son sont sous sur t ta tandis tous tout toute "
        "toutes tres trop un une vers voici vos votre vous y document documents reference "
        "references source sources n environ grace afin ayant"
    ),
    negations=word_set("ne n pas non jamais aucun aucune sans ni rien"),
    low=word_set(
        "peu guere rarement negligeable negligeables faiblement legerement mineur mineure"
    ),
    high=word_set(
        "fortement beaucoup largement principalement considerablement essentiel essentielle "
        "majeur majeure crucial decisif enormement tres"
    ),
    opposites=_pairs(
        "augmente/diminue augmentation/diminution hausse/baisse avant/apres toujours/jamais "
        "autorise/interdit obligatoire/facultatif ouvert/ferme nord/sud est/ouest "
        "maximum/minimum plus/moins ete/hiver matin/soir accepte/refuse inclus/exclu "
        "chaud/froid public/prive gratuit/payant importation/exportation interieur/exterieur"
    ),
    numbers=word_values(
        "zero=0 deux=2 trois=3 quatre=4 cinq=5 six=6 sept=7 huit=8 neuf=9 dix=10 onze=11 "
        "douze=12 treize=13 quatorze=14 quinze=15 seize=16 vingt=20 trente=30 quarante=40 "
        "cinquante=50 soixante=60 quatrevingt=80 dizaine=10 douzaine=12 quinzaine=15 "
        "vingtaine=20 trentaine=30 quarantaine=40 cinquantaine=50 soixantaine=60 septante=70 "
        "octante=80 huitante=80 nonante=90 vingts=20"
    ),
    scales=word_values(
        "cent=100 cents=100 centaine=100 centaines=100 mille=1e3 millier=1e3 milliers=1e3 "
        "million=1e6 millions=1e6 milliard=1e9 milliards=1e9"
    ),
    hedges=word_set("environ pres presque quelque quelques vers autour approximativement"),
    passives=word_set("par ete est sont etait"),
)

_GERMAN: Final = Language(
    stemmer="german",
    splitter="de",
    function_words=word_set(
        "ab aber alle allem allen aller alles als also am an andere anderen auch auf aus bei beim "
        "bis da dabei dadurch damit dann das dass dem den denen der deren des dessen die dies "
        "diese diesem diesen dieser dieses doch dort du durch ein eine einem einen einer eines "
        "er es etwa etwas fur gegen hat hatte haben hier ich ihm ihn ihr ihre ihrem ihren ihrer "
        "im in indem ins ist ja je jede jeder jedes jedoch kann kein keine keinen konnen man mehr "
        "mit muss mussen nach nicht noch nun nur ob oder ohne pro sehr sein seine seinem seinen "
        "seiner sich sie sind so sodass sowie uber um und uns unter vom von vor wann war waren "
        "was weil welche welcher welches wenn wer werden wie wir wird wo wurde wurden zu zum zur "
        "zwischen laut gemass dokument dokumente dokumenten quelle quellen rund circa ca"
    ),
    negations=word_set("nicht kein keine keinen keiner keinem nie niemals ohne weder noch nichts"),
    low=word_set("kaum wenig selten geringfugig unwesentlich minimal schwach"),
    high=word_set(
        "stark sehr erheblich wesentlich grosstenteils hauptsachlich uberwiegend entscheidend "
        "deutlich"
    ),
    opposites=_pairs(
        "steigt/sinkt zunahme/abnahme anstieg/ruckgang vor/nach immer/nie erlaubt/verboten "
        "offen/geschlossen nord/sud norden/suden osten/westen ost/west mehr/weniger "
        "sommer/winter morgens/abends heiss/kalt offentlich/privat warmer/kalter "
        "maximal/minimal mindestens/hochstens import/export kostenlos/kostenpflichtig"
    ),
    numbers=word_values(
        "null=0 eins=1 zwei=2 drei=3 vier=4 funf=5 sechs=6 sieben=7 acht=8 neun=9 zehn=10 elf=11 "
        "zwolf=12 zwanzig=20 dreissig=30 vierzig=40 funfzig=50 sechzig=60 "
        "anderthalb=1.5 eineinhalb=1.5 "
        "dutzend=12"
    ),
    scales=word_values(
        "hundert=100 tausend=1e3 million=1e6 millionen=1e6 milliarde=1e9 milliarden=1e9"
    ),
    hedges=word_set("etwa ca circa rund ungefahr fast knapp gut"),
    passives=word_set("von vom durch wurde wurden wird"),
    capital_nouns=True,
    negates_backwards=True,
)

_SPANISH: Final = Language(
    stemmer="spanish",
    splitter="es",
    function_words=word_set(
        "a al algo algunas algunos ante antes asi aun aunque bajo cada como con contra cual cuales "
        "cuando de del desde donde dos durante e el ella ellas ellos en entre era eran es esa esas "
        "ese eso esos esta estan estas este esto estos fue fueron ha han hasta hay la las le les "
        "lo los mas me menos mi mientras mismo muy nada ni no nos o otra otras otro otros para "
        "pero por porque que quien se segun ser si sin sobre son su sus tambien tan tanto te "
        "tiene tienen todo todos tras tu un una unas uno unos y ya documento documentos "
        "referencia referencias fuente fuentes unos"
    ),
    negations=word_set("no nunca jamas sin ni ningun ninguna ninguno nada tampoco"),
    low=word_set("poco apenas raramente insignificante levemente minimo"),
    high=word_set("mucho muy fuertemente principalmente considerablemente esencial decisivo"),
    opposites=_pairs(
        "aumenta/disminuye aumento/disminucion antes/despues siempre/nunca permitido/prohibido "
        "obligatorio/opcional abierto/cerrado norte/sur este/oeste maximo/minimo mas/menos "
        "verano/invierno caliente/frio publico/privado gratuito/pagado"
    ),
    numbers=word_values(
        "cero=0 dos=2 tres=3 cuatro=4 cinco=5 seis=6 siete=7 ocho=8 nueve=9 diez=10 once=11 "
        "doce=12 quince=15 veinte=20 treinta=30 cuarenta=40 cincuenta=50 "
        "docena=12"
    ),
    scales=word_values("cien=100 cientos=100 mil=1e3 millon=1e6 millones=1e6"),
    hedges=word_set("unos unas aproximadamente casi cerca alrededor"),
    passives=word_set("por fue fueron es son"),
)

_ITALIAN: Final = Language(
    stemmer="italian",
    splitter="it",
    function_words=word_set(
        "a ad agli ai al alla alle allo anche ancora c che chi ci come con cui d da dagli dai dal "
        "dalla dalle degli dei del della delle dello di dopo dove due e ed era erano essere fra "
        "gli ha hanno i il in io l la le lei lo loro lui ma mentre mi molto ne nei nel nella nelle "
        "nello no noi non o ogni per perche piu poi prima quale quali quando quanto quella quelle "
        "quelli quello questa queste questi questo se secondo senza si sia sono su sua sue sugli "
        "sui sul sulla sulle suo suoi tra tutti tutto un una uno viene vengono documento documenti "
        "riferimento fonte fonti circa"
    ),
    negations=word_set("non no mai senza ne nessun nessuno nessuna niente nulla"),
    low=word_set("poco appena raramente trascurabile leggermente minimo"),
    high=word_set("molto fortemente principalmente notevolmente essenziale decisivo"),
    opposites=_pairs(
        "aumenta/diminuisce aumento/diminuzione prima/dopo sempre/mai permesso/vietato "
        "obbligatorio/facoltativo aperto/chiuso nord/sud est/ovest massimo/minimo piu/meno "
        "estate/inverno caldo/freddo pubblico/privato"
    ),
    numbers=word_values(
        "zero=0 due=2 tre=3 quattro=4 cinque=5 sei=6 sette=7 otto=8 nove=9 dieci=10 undici=11 "
        "dodici=12 quindici=15 venti=20 trenta=30 quaranta=40 cinquanta=50 "
        "dozzina=12"
    ),
    scales=word_values(
        "cento=100 mille=1e3 mila=1e3 milione=1e6 milioni=1e6 miliardo=1e9 miliardi=1e9"
    ),
    hedges=word_set("circa quasi intorno approssimativamente"),
    passives=word_set("da dal dalla viene fu stato stata"),
)

_PORTUGUESE: Final = Language(
    stemmer="portuguese",
    splitter="es",
    function_words=word_set(
        "a ao aos as assim ate cada com como da das de dela dele delas deles depois do dois dos e "
        "ela elas ele eles em entre era eram essa essas esse esses esta estas este estes eu foi "
        "foram ha isso isto ja lhe mais mas me mesmo muito na nas nao nem no nos nossa nosso o os "
        "ou para pela pelas pelo pelos por porque qual quando que quem se segundo sem ser seu seus "
        "so sobre sua suas sao tambem tem tinha toda todas todo todos um uma umas uns voce "
        "documento documentos referencia referencias fonte fontes cerca"
    ),
    negations=word_set("nao nunca jamais sem nem nenhum nenhuma nada"),
    low=word_set("pouco raramente insignificante levemente minimo"),
    high=word_set("muito fortemente principalmente consideravelmente essencial decisivo"),
    opposites=_pairs(
        "aumenta/diminui aumento/diminuicao antes/depois sempre/nunca permitido/proibido "
        "obrigatorio/opcional aberto/fechado norte/sul leste/oeste maximo/minimo mais/menos "
        "verao/inverno quente/frio publico/privado"
    ),
    numbers=word_values(
        "zero=0 dois=2 duas=2 tres=3 quatro=4 cinco=5 seis=6 sete=7 oito=8 nove=9 dez=10 onze=11 "
        "doze=12 quinze=15 vinte=20 trinta=30 quarenta=40 cinquenta=50 duzia=12"
    ),
    scales=word_values("cem=100 mil=1e3 milhao=1e6 milhoes=1e6"),
    hedges=word_set("cerca aproximadamente quase uns umas"),
    passives=word_set("por pelo pela foi foram"),
)

_DUTCH: Final = Language(
    stemmer="dutch",
    splitter="nl",
    function_words=word_set(
        "aan al alle als bij dan dat de den der deze die dit door dus een en er geen had heb "
        "hebben heeft het hij hoe hun ik in is ja je kan kunnen maar meer men met mij na naar niet "
        "nog nu of om omdat onder ons ook op over per te tegen ten ter toch toe tot tussen uit uw "
        "van veel voor waar wanneer waren was wat we wel welke werd werden wie wij word worden "
        "wordt zal ze zeer zich zij zijn zo zonder zou volgens document documenten bron bronnen "
        "ongeveer"
    ),
    negations=word_set("niet geen nooit zonder noch niets niemand"),
    low=word_set("weinig nauwelijks zelden verwaarloosbaar licht minimaal"),
    high=word_set("sterk zeer veel vooral voornamelijk aanzienlijk essentieel beslissend"),
    opposites=_pairs(
        "stijgt/daalt toename/afname voor/na altijd/nooit toegestaan/verboden open/gesloten "
        "noord/zuid oost/west maximaal/minimaal meer/minder zomer/winter warm/koud "
        "verplicht/vrijwillig gratis/betaald"
    ),
    numbers=word_values(
        "nul=0 twee=2 drie=3 vier=4 vijf=5 zes=6 zeven=7 acht=8 negen=9 tien=10 elf=11 twaalf=12 "
        "vijftien=15 twintig=20 dertig=30 veertig=40 vijftig=50 zestig=60 "
        "dozijn=12"
    ),
    scales=word_values("honderd=100 duizend=1e3 miljoen=1e6 miljard=1e9"),
    hedges=word_set("ongeveer circa bijna zowat rond"),
    passives=word_set("door werd werden wordt worden"),
    negates_backwards=True,
)

LANGUAGES: Final[Mapping[str, Language]] = MappingProxyType(
    {
        "en": _ENGLISH,
        "fr": _FRENCH,
        "de": _GERMAN,
        "es": _SPANISH,
        "it": _ITALIAN,
        "pt": _PORTUGUESE,
        "nl": _DUTCH,
    }
)
