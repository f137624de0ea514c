import { bindKeys, createStage, texts } from "./clip.js";

const form = document.querySelector("form[action='/playback']");
const answers = document.getElementById("answers"), submit = document.getElementById("submit");
const stage = createStage({
  onEnded() {
    answers.disabled = false;
    document.getElementById("status").textContent = texts.rate_ready;
  },
});
answers.addEventListener("change", () => { submit.disabled = false; });
bindKeys(stage, form);
stage.show({ url: "/api/playback" });
