/** Names of lines of a file: for people, links and other tools. */

/**
 * @typedef {import("./answer-state.js").Citation} Citation
 */

/** @param {number} start @param {number} end */
export function linesText(start, end) {
  return start === end ? `line ${start}` : `lines ${start}–${end}`;
}

/**
 * Where lines stand in a file; of a format that has no lines, that they are those of its extracted text.
 * @param {string} path @param {number} start @param {number} end
 */
export function placeText(path, start, end) {
  return (isConverted(path) ? "extracted text, " : "") + linesText(start, end);
}

/** Whether a file's lines are those of a text that was made of it. @param {string} path */
export function isConverted(path) {
  return /\.(?:docx|ipynb|pdf)$/i.test(path);
}

/** For people who listen. @param {number} start @param {number} end */
export function linesSpoken(start, end) {
  return start === end ? `line ${start}` : `lines ${start} to ${end}`;
}

/**
 * The human form of a citation, which every command reads.
 * @param {string} path
 * @param {number} start
 * @param {number} end
 */
export function referenceText(path, start, end) {
  return `[Source: ${path}, lines ${start}-${end}]`;
}

/** @param {string} path @param {number} [start] @param {number} [end] */
export function documentUrl(path, start, end = start) {
  const quoted = path.split("/").map(encodeURIComponent).join("/");
  return `/doc/${quoted}${start ? lineHash(start, end ?? start) : ""}`;
}

/** @param {number} start @param {number} end */
export function lineHash(start, end) {
  return start === end ? `#L${start}` : `#L${start}-L${end}`;
}

/**
 * @param {string} hash
 * @returns {[number, number] | null}
 */
export function parsedHash(hash) {
  const match = /^#L(\d{1,9})(?:-L?(\d{1,9}))?$/.exec(hash);
  if (!match) return null;
  const ends = [Number(match[1]), Number(match[2] ?? match[1])].sort((a, b) => a - b);
  return ends[0] > 0 ? [ends[0], ends[1]] : null;
}

/**
 * @param {[number, number] | null} range
 * @param {number} count of the lines that there are
 * @returns {[number, number] | null} what there is of it
 */
export function clamped(range, count) {
  return range && range[0] <= count ? [range[0], Math.min(range[1], count)] : null;
}
