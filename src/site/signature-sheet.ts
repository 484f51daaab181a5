import { html } from '#libs/pages';
import { type SiteWords } from '#locales';
import { type Page, pageOf } from './document.js';
import { CACHE_SECONDS } from './petition-page.js';
import { langOf, pathOf, urlOf } from './parts.js';
import { type SiteOrganization, type SitePetition } from './site-types.js';

/** They fit on a page of A4 and of US Letter, below a title and a demand of a few lines each. */
const ROWS = 12;
/** Fields of the form that have a column. Signatures on paper are often only valid with an address. */
const ON_PAPER = ['zip', 'city', 'region', 'country'] as const;

/** A page to print, on which people sign with a pen. The printer chooses the size of the paper. */
export function signatureSheet({
  organization,
  petition,
  words,
}: {
  organization: SiteOrganization;
  petition: SitePetition;
  words: SiteWords;
}): Page {
  const { title, target, ask, consent, asked } = petition;
  const { paper, fields } = words;
  const standard = new Set(asked.flatMap((one) => ('field' in one ? [one.field as string] : [])));
  const columns = [
    paper.name,
    ...ON_PAPER.filter((field) => standard.has(field)).map((field) => fields[field]),
    `${fields.email} (${words.optional})`,
    paper.agree,
    paper.signature,
  ];
  return pageOf({
    organization,
    words,
    about: petition,
    switches: [],
    title: `${paper.title}: ${title}`,
    seconds: CACHE_SECONDS,
    content: html`<div class="wide paper">
      <img src="${pathOf(petition, '/qr.svg')}" width="120" height="120" alt="${words.shareBy.qrAlt}" />
      <h1${langOf(petition, words, 'title')}>${title}</h1>
      ${target === null ? null : html`<p>${words.target}: <strong${langOf(petition, words, 'target')}>${target}</strong></p>`}
      ${ask === null ? null : html`<p>${words.ask}: <strong${langOf(petition, words, 'ask')}>${ask}</strong></p>`}
      <p>${paper.online(urlOf(petition))}</p>
      <p>${paper.agreeTo} <span lang="${consent.language}">${consent.text}</span></p>
      <table>
        <thead>
          <tr>${columns.map((column) => html`<th scope="col">${column}</th>`)}</tr>
        </thead>
        <tbody>
          ${Array.from({ length: ROWS }, () => html`<tr>${columns.map(() => html`<td></td>`)}</tr>`)}
        </tbody>
      </table>
      <p class="small">${words.dataNone(organization.name)}</p>
    </div>`,
  });
}
