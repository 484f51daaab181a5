export { accentsOf } from './colours.js';
export { counted, formatDate, formatNumber, plural } from './formats.js';
export { html, Html, trusted } from './html.js';
export { languageOf } from './language.js';
export { readForm } from './read-form.js';
export { richText } from './rich-text.js';
export { styleOf } from './style.js';
