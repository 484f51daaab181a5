import { html, type Html } from '#libs/pages';
import { type ConsentRecord } from '../../contacts/index.js';
import { SectionOf, timeIn } from '../parts.js';
import { actorsOf } from '../activity-log.js';
import { type PageContext } from '../page-context.js';

const LIMIT = 10;

/** The consents of a contact with their evidence, newest first. */
export async function ConsentsOf(context: PageContext, contactId: string): Promise<Html> {
  const { words } = context;
  const cursor = context.address.query('consents');
  const place = cursor === undefined ? {} : { cursor };
  const { records, pagination } = await context.api.run<{
    records: ConsentRecord[];
    pagination: { cursor: string | null };
  }>('contact.list-consents', { contactId, limit: LIMIT, ...place });
  const nameOf = await actorsOf(
    context,
    records.map(({ actor }) => actor),
  );
  const { consents } = words.contacts;
  return SectionOf(consents.title, [
    html`<span id="consents"></span>
      <ul class="past consents">
      ${records.map(
        ({ given, at, text, language, source, ip, actor }) =>
          html`<li>
            <p>${given ? consents.yes : consents.no}</p>
            ${text === null ? null : html`<p><q lang="${language ?? ''}">${text}</q></p>`}
            <p class="small">
              ${[
                timeIn(words, new Date(at)),
                source && consents.source(source),
                ip && consents.ip(ip),
                consents.by(nameOf(actor)),
              ]
                .filter((part) => part !== null)
                .join(' · ')}
            </p>
          </li>`,
      )}
    </ul>`,
    cursor === undefined
      ? null
      : html`<p><a href="${context.address.withQuery({ consents: null })}#consents">${words.past.newest}</a></p>`,
    pagination.cursor === null
      ? null
      : html`<p><a href="${context.address.withQuery({ consents: pagination.cursor })}#consents">${consents.older}</a></p>`,
  ]);
}
