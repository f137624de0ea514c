// The page of one clip: the player and nothing else.
import { createStage, texts } from "./clip.js";

createStage({ onEnded() {} }).show({ clip: texts.clip, video: texts.video });
