import { bindKeys, createStage, getJson, texts } from "./clip.js";

const byId = (id) => document.getElementById(id);
const form = byId("form"), answers = byId("answers"), submit = byId("submit"), feedback = byId("feedback");
const stage = createStage({
  onEnded() {
    answers.disabled = false;
    byId("status").textContent = texts.rate_ready;
  },
});
const clips = await getJson("/api/practice");
let index = 0;

function show() {
  form.reset();
  answers.disabled = true;
  submit.disabled = true;
  feedback.hidden = true;
  byId("status").textContent = texts.rate_wait;
  byId("title").textContent = texts.practice_title.replace("%n", index + 1).replace("%t", clips.length);
  submit.textContent = index + 1 < clips.length ? texts.practice_next : texts.practice_start;
  stage.show(clips[index]);
}

answers.addEventListener("change", () => {
  byId("status").textContent = "";
  feedback.textContent = texts[`practice_feedback_${clips[index].feedback}`];
  feedback.hidden = false;
  submit.disabled = false;
});
form.addEventListener("submit", (event) => {
  if (submit.disabled) {
    event.preventDefault();
  } else if (index + 1 < clips.length) {
    event.preventDefault();
    index += 1;
    show();
  } else {
    submit.disabled = true;
  }
});
bindKeys(stage, form);
if (clips.length) show();
else location.replace("/");
