// Talking to the server. Every change stays in this browser until the server has it on disk.

const PATIENCE = 15000; // milliseconds until a silent server counts as gone
const RETRY = 1500;
const TYPING = 400; // pause in typing after which text is sent

class Trouble extends Error {
  constructor(kind, message, more) {
    super(message);
    this.kind = kind;
    this.more = more;
  }
}

const KINDS = { 401: "locked", 404: "unknown", 409: "conflict" };

async function ask(what, body) {
  let answer;
  let told;
  try {
    answer = await fetch(`/api/${what}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Annotate-Token": location.hash.slice(1) },
      body: JSON.stringify(body),
      credentials: "omit",
      signal: AbortSignal.timeout(PATIENCE),
    });
    told = await answer.json();
  } catch {
    throw new Trouble("gone", "The server does not answer.");
  }
  if (answer.ok) return told;
  const kind = KINDS[answer.status] || (answer.status >= 500 ? "refused" : "wrong");
  throw new Trouble(kind, told.error, told);
}

function nameOfThisPage() {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

const outbox = (() => {
  const writer = nameOfThisPage();
  const waiting = new Map(); // key -> {base, writer, draft}, or with conflict: the newer revision
  const revisions = new Map();
  let annotator = null;
  let place = null;
  let sending = false;
  let timer = 0;
  let trouble = null;
  let keeps = true; // whether this browser stores anything
  const box = { onState: () => {}, onSaved: () => {} };

  const told = () => box.onState({ waiting: waiting.size, sending, trouble, keeps });

  function keep(key) {
    try {
      localStorage.setItem(place + key, JSON.stringify(waiting.get(key)));
      keeps = true;
    } catch {
      keeps = false; // full, or forbidden: the page then says that it must stay open
    }
  }

  function forget(key) {
    waiting.delete(key);
    try {
      localStorage.removeItem(place + key);
    } catch { /* then nothing was stored either */ }
  }

  // Takes up what an earlier page of this annotator could not send any more.
  box.begin = (desk, name, keys) => {
    annotator = name;
    place = `grouse-annotate/${desk}/${name}/`;
    waiting.clear();
    try {
      for (const stored of Object.keys(localStorage)) {
        const key = stored.slice(place.length);
        if (!stored.startsWith(place) || !keys.has(key)) continue;
        const entry = JSON.parse(localStorage.getItem(stored));
        // whether it is refused or in conflict is for the server to say anew
        if (entry && entry.draft) waiting.set(key, { base: entry.base, writer: entry.writer, draft: entry.draft });
      }
    } catch { /* no storage, so nothing is left from before */ }
    box.flush();
  };

  box.knows = (key, revision) => revisions.set(key, revision);
  box.draft = (key) => (waiting.has(key) ? waiting.get(key).draft : null);
  box.isEmpty = () => waiting.size === 0;
  box.isSafe = () => keeps || waiting.size === 0;
  box.conflicts = () => [...waiting].filter(([, entry]) => entry.conflict !== undefined).map(([key]) => key);

  box.put = (key, draft, { typing = false } = {}) => {
    const before = waiting.get(key);
    const base = before ? before.base : revisions.get(key) || 0;
    const entry = { base, writer: before ? before.writer : writer, draft };
    if (before && before.conflict !== undefined) entry.conflict = before.conflict;
    waiting.set(key, entry);
    keep(key);
    clearTimeout(timer);
    if (typing) timer = setTimeout(box.flush, TYPING);
    else box.flush();
    told();
  };

  // The annotator decides between two versions of an answer.
  box.settle = (key, mine) => {
    const entry = waiting.get(key);
    if (!entry || entry.conflict === undefined) return;
    if (mine) {
      waiting.set(key, { base: entry.conflict, writer, draft: entry.draft });
      keep(key);
    } else {
      revisions.set(key, entry.conflict);
      forget(key);
    }
    if (trouble && trouble.kind === "conflict") trouble = null;
    box.flush();
  };

  box.heard = (error) => {
    trouble = error;
    told();
    if (!error && !box.isEmpty()) box.flush();
  };

  box.flush = async () => {
    clearTimeout(timer);
    if (sending) return;
    sending = true;
    let error = null;
    for (;;) {
      const next = [...waiting].find(([, entry]) => entry.conflict === undefined && !entry.stuck);
      if (!next) break;
      told();
      error = await send(...next);
      if (error && error.kind !== "conflict" && error.kind !== "wrong") break;
    }
    sending = false;
    trouble = error;
    if (!trouble && box.conflicts().length) trouble = new Trouble("conflict", "");
    if (error && (error.kind === "gone" || error.kind === "refused")) timer = setTimeout(box.flush, RETRY);
    told();
  };

  async function send(key, entry) {
    try {
      const saved = await ask("save", { annotator, key, base: entry.base, writer: entry.writer, draft: entry.draft });
      revisions.set(key, saved.revision);
      const now = waiting.get(key);
      if (!now || now.draft === entry.draft) {
        forget(key);
        box.onSaved(key, saved.state);
      } else {
        now.base = saved.revision; // more was said meanwhile
        keep(key);
      }
      return null;
    } catch (error) {
      if (!(error instanceof Trouble)) throw error;
      const now = waiting.get(key);
      if (!now) return error;
      if (error.kind === "conflict") now.conflict = error.more.revision;
      else if (error.kind === "wrong" && now.draft.state === "done") now.draft = { ...now.draft, state: "open" };
      else if (error.kind === "wrong" || error.kind === "unknown") now.stuck = true; // kept, and tried again when the page is opened again
      return error;
    }
  }

  return box;
})();
