import { formatDate, formatNumber, html } from '#libs/pages';
import { type SiteWords } from '#locales';
import { type PublicComment } from './public-comments.js';

/** A signer; null if the contact was deleted. */
export type Signer = { name: string; place: string } | null;

type Texts = { title: string; target: string | null; ask: string | null; description: string | null };
type Numbers = { signatures: number; offlineSignatures: number };

const STYLE = `body{max-width:48rem;margin:2rem auto;padding:0 1rem;font:16px/1.5 system-ui,sans-serif}
dt{color:#555}dd{margin:0 0 .75rem;font-weight:600;white-space:pre-line}
.total{font-size:2rem;font-weight:700;margin:1rem 0 0}
table{width:100%;border-collapse:collapse}td,th{padding:.25rem .5rem;border-bottom:1px solid #ccc;text-align:left;vertical-align:top}
td:first-child{color:#555;font-variant-numeric:tabular-nums}tr,li{break-inside:avoid}thead{display:table-header-group}
li{margin:0 0 1rem;white-space:pre-line}ul{padding:0;list-style:none}@page{margin:2cm}`;

/** The document up to the signers. It is a file of its own that loads nothing. */
export function deliveryHead(
  words: SiteWords,
  language: string,
  organization: string,
  { title, target, ask, description }: Texts,
  { signatures, offlineSignatures }: Numbers,
  { isNamed, at, timeZone }: { isNamed: boolean; at: Date; timeZone: string },
): string {
  const { delivery } = words;
  const number = (n: number) => formatNumber(words.dates, n);
  const total = signatures + offlineSignatures;
  const facts = [
    [words.target, target],
    [words.ask, ask],
  ].filter(([, text]) => text !== null);
  const head = html`<!doctype html>
<html lang="${language}">
<head><meta charset="utf-8" /><title>${title}</title><style>${STYLE}</style></head>
<body>
<h1>${title}</h1>
<p>${delivery.by(organization, formatDate(words.dates, { dateStyle: 'long', timeZone }, at))}</p>
${description === null ? null : html`<p>${description}</p>`}
<dl>${facts.map(([name, text]) => html`<dt>${name}</dt><dd>${text}</dd>`)}</dl>
<p class="total">${words.signatures(total, number(total))}</p>
${offlineSignatures === 0 ? null : html`<p>${delivery.parts(number(signatures), number(offlineSignatures))}</p>`}
<p>${delivery.proof}</p>
`;
  if (!isNamed) return String(head);
  return `${String(head)}${String(html`<h2>${delivery.signers}</h2>
<table><thead><tr><th></th><th>${words.confirm.name}</th><th>${delivery.place}</th></tr></thead><tbody>
`)}`;
}

export function deliveryRows(words: SiteWords, signers: readonly Signer[], before: number): string {
  const rows = signers.map((signer, n) => {
    const { name, place } = signer ?? { name: words.delivery.deleted, place: '' };
    return html`<tr><td>${formatNumber(words.dates, before + n + 1)}</td><td>${name}</td><td>${place}</td></tr>
`;
  });
  return rows.join('');
}

/** The document from the end of the signers. */
export function deliveryFoot(
  words: SiteWords,
  comments: readonly PublicComment[],
  { isNamed }: { isNamed: boolean },
): string {
  const list = html`<h2>${words.comments}</h2>
<ul>${comments.map(({ name, text }) => html`<li>${text}<br /><small>${name}</small></li>`)}</ul>`;
  return `${isNamed ? '</tbody></table>' : ''}${comments.length === 0 ? '' : String(list)}</body></html>
`;
}
