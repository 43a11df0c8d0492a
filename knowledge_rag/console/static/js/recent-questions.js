/** Questions asked in this browser, newest first, each with its answer; what was pasted is kept by its name alone. */
import { keep, kept } from "./storage.js";

/** @typedef {{question: string, answer: string}} Recent the answer's id, "" for none */

const KEY = "recent-questions";
const MOST = 8;
/** Characters. */
const LONGEST = 1000;

/** @returns {Recent[]} */
export function recentQuestions() {
  const questions = kept("localStorage", KEY);
  if (!Array.isArray(questions)) return [];
  // an older page kept the questions alone
  return questions.map((it) => (typeof it === "string" ? { question: it, answer: "" } : it))
    .filter((it) => typeof it?.question === "string" && typeof it.answer === "string").slice(0, MOST);
}

/** @param {string} question @param {string} answer */
export function remember(question, answer) {
  if (question.length > LONGEST) return;
  keep("localStorage", KEY, [{ question, answer }, ...others(question)].slice(0, MOST));
}

/** @param {string} question */
export function forget(question) {
  keep("localStorage", KEY, others(question));
}

export function forgetAll() {
  keep("localStorage", KEY, []);
}

/** @param {string} question */
function others(question) {
  return recentQuestions().filter((it) => it.question !== question);
}
