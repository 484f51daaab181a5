import { html, type Html } from '#libs/pages';
import { Resources } from '#libs/resources';
import { broadcasts, type DeliveryRecord } from '../../broadcasts/index.js';
import { type PageContext } from '../page-context.js';
import { BadgeOf, MomentOf, SectionOf } from '../parts.js';

/** Emails on the page of their recipient. */
const LIMIT = 5;

/** The newest emails that were sent to a contact. Null without any, or without the permission to read emails. */
export async function DeliveriesOf(
  { words, person, address, api }: PageContext,
  contactId: string,
): Promise<Html | null> {
  if (!person.may('broadcast:read')) return null;
  const { organizationId } = api;
  const { deliveries } = await api.run<{ deliveries: { data: DeliveryRecord[] } }>('contact.get-contact', {
    organizationId,
    contactId,
    include: 'deliveries',
  });
  const shown = deliveries.data.slice(0, LIMIT);
  if (shown.length === 0) return null;
  const ids = [...new Set(shown.map(({ broadcastId }) => broadcastId))];
  const found = await api.find(Resources).named(broadcasts, organizationId, ids);
  const { title, deleted } = words.contacts.deliveries;
  const { recipients, figures } = words.broadcasts;
  return SectionOf(title, [
    html`<ul class="past">
      ${shown.map(({ broadcastId, status, at, ...ends }) => {
        const name = found.find(({ id }) => id === broadcastId)?.name;
        const link = html`<a href="${address.path(`broadcasts/${broadcastId}`)}">${name}</a>`;
        const end = (['complained', 'unsubscribed', 'bounced'] as const).find(
          (one) => ends[`${one}At`] !== null,
        );
        const [tone, text] = end ? ['FAILED', figures[end]] : [status, recipients.statuses[status]];
        return html`<li class="ends">
          <span>${name === undefined ? deleted : link} ${BadgeOf(tone, text)}</span>
          ${at === null ? null : MomentOf(words, new Date(at))}
        </li>`;
      })}
    </ul>`,
    deliveries.data.length > LIMIT ? html`<p class="small">${words.contacts.andOthers}</p>` : null,
  ]);
}
