export { escapeHtml, html, Html, trusted } from './html.js';
