import js from "@eslint/js";
import globals from "globals";

export default [
  js.configs.recommended,
  { languageOptions: { globals: globals.browser } },
  { files: ["**/early-theme.js"], languageOptions: { sourceType: "script" } },
];
