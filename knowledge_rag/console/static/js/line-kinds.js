/** The kind of each line of a Markdown file, for its looks only. */

/** @typedef {"front" | "code" | "table" | "heading" | "blank" | "prose"} LineKind */

const FENCE = /^\s*(?:>\s*)*(?:(?:[-*+]|\d+[.)])\s+)*(`{3,}|~{3,})/;

/**
 * @param {string[]} lines
 * @param {boolean} [isWhole] whether they begin where the file does, where front matter may stand
 * @returns {LineKind[]}
 */
export function lineKinds(lines, isWhole = false) {
  let fence = "";
  let front = isWhole && lines[0]?.trimEnd() === "---" ? lines.findIndex((line, at) => at > 0 && line.trimEnd() === "---") : -1;
  return lines.map((line, index) => {
    if (index <= front) return "front";
    const mark = FENCE.exec(line)?.[1] ?? "";
    if (fence) {
      if (mark.startsWith(fence)) fence = "";
      return "code";
    }
    fence = mark;
    return mark ? "code" : kindOf(line);
  });
}

/** @param {string} line @returns {LineKind} */
function kindOf(line) {
  if (!line.trim()) return "blank";
  if (/^#{1,6}\s/.test(line)) return "heading";
  return /^\s*\|.*\|\s*$/.test(line) ? "table" : "prose";
}
