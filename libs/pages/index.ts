export { escapeHtml, html, Html, trusted } from './html.js';
export { counted, formatDate, formatNumber, plural } from './formats.js';
export { languageOf } from './language.js';
