// Answers that were given but not yet acknowledged. Kept on the device, so that a reload or a lost connection
// loses nothing; each has an id made here, so that sending twice is harmless.

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
  let waiting = [];
  try {
    waiting = JSON.parse(localStorage.getItem(name)) || [];
  } catch {
    waiting = [];
  }
  let sending = false, timer = 0, pause = 1000;
  const idle = [];

  function keep() {
    try {
      if (waiting.length) localStorage.setItem(name, JSON.stringify(waiting));
      else localStorage.removeItem(name);
    } catch {
      // Private windows may refuse storage; the answer is still sent from memory.
    }
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
    while (waiting.length && !problem) {
      let status = 0;
      try {
        status = await send(waiting[0]);
      } catch {
        status = 0;
      }
      if (status === 200 || status === 409 || status === 422) {
        // Saved, or another tab was faster, or this place does not exist: nothing more to send.
        waiting.shift();
        pause = 1000;
        keep();
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
      waiting.push({ id: newId(), ...answer });
      keep();
      flush();
    },
    positions: () => new Set(waiting.map((answer) => answer.position)),
    empty: () => new Promise((resolve) => {
      if (!waiting.length && !sending) resolve();
      else idle.push(resolve);
    }),
    flush,
  };
}
