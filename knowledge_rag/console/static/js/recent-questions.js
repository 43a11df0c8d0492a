/** Questions asked on this machine, newest first; they stay in this browser. */
import { kept, keep } from "./storage.js";

const KEY = "recent-questions";
const MOST = 8;

/** @returns {string[]} */
export function recentQuestions() {
  const questions = kept("localStorage", KEY);
  return Array.isArray(questions) ? questions.filter((it) => typeof it === "string").slice(0, MOST) : [];
}

/** @param {string} question */
export function remember(question) {
  keep("localStorage", KEY, [question, ...recentQuestions().filter((it) => it !== question)].slice(0, MOST));
}

/** @param {string} question */
export function forget(question) {
  keep("localStorage", KEY, recentQuestions().filter((it) => it !== question));
}

export function forgetAll() {
  keep("localStorage", KEY, []);
}
