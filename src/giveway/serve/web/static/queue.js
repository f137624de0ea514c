// Answers that were given but not yet acknowledged. Kept on the device, so that a reload or a lost connection
// loses nothing; each has an id made here, so that sending twice is harmless. Each is kept under a key of its own, so that
// several tabs do not overwrite what the others keep; whichever tab can send, sends for all of them.

function newId() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((b) => b.toString(16).padStart(2, "0")).join("");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** A queue for one rater. `onChange(waiting, problem)` after every step; problem is "", "offline", "paused" or "lost". */
export function createQueue({ name, formToken, onChange }) {
  const waiting = [];
  let sending = false, timer = 0, pause = 1000;
  const idle = [];

  const keyOf = (answer) => `${name}:${answer.id}`;

  /** Use the device's memory; private windows may refuse it, and then answers are sent from this page only. */
  function remember(use) {
    try {
      use(localStorage);
    } catch {
      // Nothing is kept, and nothing is lost as long as the page stays open.
    }
  }

  /** Take over what other tabs, or this one before a reload, left behind. */
  function adopt() {
    remember((storage) => {
      const mine = new Set(waiting.map(keyOf));
      const others = Object.keys(storage).filter((key) => key.startsWith(`${name}:`) && !mine.has(key));
      for (const key of others) waiting.push(JSON.parse(storage.getItem(key)));
    });
  }

  function later(problem) {
    onChange(waiting.length, problem);
    clearTimeout(timer);
    timer = setTimeout(flush, pause);
    pause = Math.min(30000, pause * 2);
  }

  async function send(answer) {
    const response = await fetch("/api/answers", {
      method: "POST",
      credentials: "same-origin",
      headers: { "Content-Type": "application/json", "X-CSRF": formToken },
      body: JSON.stringify(answer),
      keepalive: true,
    });
    return response.status;
  }

  async function flush() {
    if (sending) return;
    sending = true;
    clearTimeout(timer);
    let problem = "";
    adopt();
    while (waiting.length && !problem) {
      let status = 0;
      try {
        status = await send(waiting[0]);
      } catch {
        status = 0;
      }
      if (status === 200 || status === 409 || status === 422) {
        // Saved, or another tab was faster, or this place does not exist: nothing more to send.
        const done = waiting.shift();
        pause = 1000;
        remember((storage) => storage.removeItem(keyOf(done)));
        onChange(waiting.length, "");
      } else if (status === 401 || status === 403) {
        problem = "lost";
      } else {
        problem = status === 423 ? "paused" : "offline";
      }
    }
    sending = false;
    if (problem === "lost") onChange(waiting.length, problem);
    else if (problem) later(problem);
    else while (idle.length) idle.shift()();
  }

  window.addEventListener("online", flush);

  return {
    add(answer) {
      const given = { id: newId(), ...answer };
      waiting.push(given);
      remember((storage) => storage.setItem(keyOf(given), JSON.stringify(given)));
      flush();
    },
    positions() {
      adopt();
      return new Set(waiting.map((answer) => answer.position));
    },
    empty: () => new Promise((resolve) => {
      idle.push(resolve);
      flush();
    }),
    flush,
  };
}
