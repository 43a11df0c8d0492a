/** Storage that may be missing, full, forbidden or filled by an older page. */

/**
 * @param {"localStorage" | "sessionStorage"} kind
 * @param {string} key
 * @returns {any} what was kept, or null
 */
export function kept(kind, key) {
  try {
    return JSON.parse(window[kind].getItem(key) ?? "null");
  } catch {
    return null;
  }
}

/**
 * @param {"localStorage" | "sessionStorage"} kind
 * @param {string} key
 * @param {unknown} value
 */
export function keep(kind, key, value) {
  try {
    window[kind].setItem(key, JSON.stringify(value));
  } catch {
    // the page works without storage
  }
}
