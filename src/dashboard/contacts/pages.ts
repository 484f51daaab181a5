import { html, type Html } from '#libs/pages';
import { type StreamedAnswer } from '#libs/rpc';
import { belongingOf } from '../belonging.js';
import { FilterField, listPages } from '../list-pages.js';
import { type PageDefinition } from '../page.js';
import {
  AreaField,
  ConfirmForm,
  ButtonLink,
  CheckField,
  dateIn,
  Actions,
  Facts,
  FormOf,
  TextField,
} from '../parts.js';
import { ActivityLog } from '../activity-log.js';
import { type SuppressionRecord } from '../suppressions/pages.js';
import { type Visit } from '../visit.js';
import { ConsentsOf } from './consents.js';

const DETAILS = [
  'firstName',
  'lastName',
  'phone',
  'mobile',
  'address',
  'zip',
  'city',
  'country',
  'bio',
] as const;
type Detail = (typeof DETAILS)[number];

export type ContactRecord = {
  id: string;
  createdAt: string;
  updatedAt: string;
  email: string;
  subscribed: boolean;
} & Record<Detail, string | null>;

/** No autocomplete: browsers would fill in the data of their user, not of the contact. */
const FIELDS: Partial<Record<Detail, 'tel'>> = { phone: 'tel', mobile: 'tel' };

/** The kinds of records by which contacts can be filtered. */
const CHOSEN_BY = [
  { name: 'listId', operation: 'list.list-lists', needs: 'list:read', label: 'list' },
  { name: 'tagId', operation: 'tag.list-tags', needs: 'tag:read', label: 'tag' },
  { name: 'petitionId', operation: 'petition.list-petitions', needs: 'petition:read', label: 'petition' },
] as const;

export const contactPages: PageDefinition[] = [
  ...listPages<ContactRecord>({
    path: 'contacts',
    section: 'contacts',
    needs: 'contact:read',
    operation: 'contact.list-contacts',
    title: ({ contacts }) => contacts.title,
    text: ({ contacts }) => contacts.text,
    empty: ({ contacts }) => contacts.none,
    search: ({ contacts }) => contacts.search,
    fields: filtersOf,
    filters: FiltersOf,
    add: { path: 'contacts/new', text: ({ contacts }) => contacts.add, needs: 'contact:write' },
    deeds: (visit) => [
      visit.may('contact:write')
        ? ButtonLink(visit, 'contacts/import', visit.words.contacts.import, true)
        : null,
    ],
    columns: [
      {
        name: ({ nameOf }) => nameOf,
        cell: (contact, visit) =>
          html`<a href="${visit.path(`contacts/${contact.id}`)}">${nameOf(contact)}</a>`,
        exported: nameOf,
      },
      { name: ({ email }) => email, cell: ({ email }) => email },
      {
        name: ({ contacts }) => contacts.subscribed,
        cell: ({ subscribed }, { words }) => (subscribed ? words.yes : words.no),
      },
      { name: ({ contacts }) => contacts.fields.country, cell: ({ country }) => country },
      { name: ({ since }) => since, cell: ({ createdAt }, { words }) => dateIn(words, createdAt) },
    ],
    exportBy: (visit) =>
      visit.run<StreamedAnswer>('contact.export-contacts', {
        format: 'csv',
        q: visit.query('q'),
        ...filtersOf(visit),
      }),
  }),
  {
    path: 'contacts/new',
    needs: 'contact:write',
    show: (visit) => {
      const { contacts } = visit.words;
      const subscribe = CheckField(visit, { name: 'subscribed', label: contacts.adding.subscribe });
      const fields = [...FieldsOf(visit), subscribe];
      return Promise.resolve(
        visit.page({
          section: 'contacts',
          back: toContacts(visit),
          title: contacts.adding.title,
          content: html`<div class="text">
            <p class="lead">${contacts.adding.hint}</p>
            ${FormOf(visit, { fields, button: contacts.adding.button })}
          </div>`,
        }),
      );
    },
    act: async (visit) => {
      const { contactId } = await visit.run<{ contactId: string }>('contact.create-contact', {
        organizationId: visit.organizationId,
        ...typedIn(visit),
      });
      return { to: `contacts/${contactId}`, done: 'contacts.created' };
    },
  },
  {
    path: 'contacts/:contact',
    needs: 'contact:read',
    show: async (visit) => {
      const { words } = visit;
      const found = contactOf(visit);
      const [contact, mails, belonging, consents, past] = await Promise.all([
        found,
        found.then((one) => MailsTo(visit, one)),
        BelongingOf(visit, visit.params.contact!),
        ConsentsOf(visit, visit.params.contact!),
        ActivityLog(visit, visit.params.contact!),
      ]);
      const { edit, erase, fields, subscribed } = words.contacts;
      return visit.page({
        section: 'contacts',
        back: toContacts(visit),
        title: nameOf(contact),
        content: html`${
          visit.may('contact:write')
            ? Actions([
                ButtonLink(visit, `contacts/${contact.id}/edit`, edit),
                ButtonLink(visit, `contacts/${contact.id}/erase`, erase, true),
              ])
            : null
        }
        ${Facts([
          { name: fields.email, value: contact.email },
          { name: subscribed, value: mails },
          ...DETAILS.filter((name) => contact[name] !== null).map((name) => ({
            name: fields[name],
            value: contact[name],
          })),
          ...belonging,
          { name: words.since, value: dateIn(words, contact.createdAt) },
        ])}
        ${consents} ${past}`,
      });
    },
  },
  {
    path: 'contacts/:contact/edit',
    needs: 'contact:write',
    show: async (visit) => {
      const { contacts } = visit.words;
      const contact = await contactOf(visit);
      const subscribe = CheckField(visit, {
        name: 'subscribed',
        label: contacts.adding.subscribe,
        isTicked: contact.subscribed,
      });
      return visit.page({
        section: 'contacts',
        back: { href: visit.path(`contacts/${contact.id}`), text: nameOf(contact) },
        title: contacts.editing.title(nameOf(contact)),
        content: html`<div class="text">
          ${FormOf(visit, { fields: [...FieldsOf(visit, contact), subscribe], button: contacts.editing.button, of: contact })}
        </div>`,
      });
    },
    act: async (visit) => {
      const contactId = visit.params.contact!;
      visit.requireSame(await contactOf(visit));
      await visit.run('contact.update-contact', { contactId, ...typedIn(visit) });
      return { to: `contacts/${contactId}`, done: 'contacts.changed' };
    },
  },
  {
    path: 'contacts/:contact/erase',
    needs: 'contact:write',
    show: async (visit) => {
      const contact = await contactOf(visit);
      const { title, text, button } = visit.words.contacts.erasing;
      const name = nameOf(contact);
      return visit.page({
        section: 'contacts',
        title: title(name),
        content: ConfirmForm(visit, { text, button: button(name), back: `contacts/${contact.id}` }),
      });
    },
    act: async (visit) => {
      await visit.run('contact.delete-contact', { contactId: visit.params.contact });
      return { to: 'contacts', done: 'contacts.erased' };
    },
  },
];

export function toContacts(visit: Visit) {
  return { href: visit.path('contacts'), text: visit.words.contacts.title };
}

/** The name of a contact, or the address if there is no name. */
export function nameOf({
  firstName,
  lastName,
  email,
}: Record<'firstName' | 'lastName' | 'email', string | null>): string {
  return [firstName, lastName].filter(Boolean).join(' ') || (email ?? '');
}

function contactOf(visit: Visit): Promise<ContactRecord> {
  const { organizationId, params } = visit;
  return visit.run<ContactRecord>('contact.get-contact', { organizationId, contactId: params.contact });
}

async function BelongingOf(visit: Visit, contactId: string) {
  const { contacts, sections } = visit.words;
  return (await belongingOf(visit, contactId)).map(({ section, links, hasMore }) => ({
    name: section === 'petitions' ? contacts.signed : sections[section],
    value:
      links.length === 0
        ? null
        : html`${links.map((link, n) => (n === 0 ? link : html`, ${link}`))}${hasMore ? html`, ${contacts.andOthers}` : null}`,
  }));
}

/** Whether a contact is subscribed. A suppressed address receives no email even then. */
async function MailsTo(visit: Visit, { email, subscribed }: ContactRecord): Promise<Html | string> {
  const { words } = visit;
  const agreed = subscribed ? words.yes : words.no;
  if (!visit.may('suppression:read')) return agreed;
  const { records } = await visit.run<{ records: SuppressionRecord[] }>('suppression.list-suppressions', {
    email,
    limit: 1,
  });
  const [blocked] = records;
  if (!blocked) return agreed;
  const path = visit.path(`suppressions?email=${encodeURIComponent(email)}`);
  return html`<a href="${path}">${words.contacts.blocked(words.suppressions.reasons[blocked.reason])}</a>`;
}

function FieldsOf(visit: Visit, contact?: ContactRecord): Html[] {
  const { fields } = visit.words.contacts;
  const email = TextField(visit, {
    name: 'email',
    label: fields.email,
    value: contact?.email,
    type: 'email',
    max: 254,
  });
  const details = DETAILS.filter((name) => name !== 'bio').map((name) =>
    TextField(visit, {
      name,
      label: fields[name],
      value: contact?.[name],
      type: FIELDS[name] ?? 'text',
      max: 500,
      isOptional: true,
    }),
  );
  const bio = AreaField(visit, { name: 'bio', label: fields.bio, value: contact?.bio, isOptional: true });
  return [email, ...details, bio];
}

/** The submitted fields. An empty field is null. */
function typedIn(visit: Visit): Record<string, unknown> {
  const details = DETAILS.map((name) => [name, visit.typed(name)]);
  return {
    email: visit.typed('email') ?? '',
    ...(Object.fromEntries(details) as Record<string, string | null>),
    subscribed: visit.form.has('subscribed'),
  };
}

function filtersOf(visit: Visit): Record<string, unknown> {
  const chosen = CHOSEN_BY.filter(({ needs }) => visit.may(needs)).map(({ name }) => [
    name,
    visit.query(name),
  ]);
  return {
    subscribed: visit.query('subscribed'),
    ...(Object.fromEntries(chosen) as Record<string, string | undefined>),
  };
}

async function FiltersOf(visit: Visit): Promise<Html[]> {
  const { words } = visit;
  const { filters } = words.contacts;
  const kinds = await Promise.all(
    CHOSEN_BY.filter(({ needs }) => visit.may(needs)).map(async ({ name, operation, label }) => {
      const choices = await choicesOf(visit, operation);
      return choices.length === 0 ? null : FilterField(visit, { name, label: filters[label], choices });
    }),
  );
  const subscribed = FilterField(visit, {
    name: 'subscribed',
    label: filters.subscribed,
    choices: [
      { value: 'true', text: words.yes },
      { value: 'false', text: words.no },
    ],
  });
  return [subscribed, ...kinds.filter((kind) => kind !== null)];
}

/** The newest hundred records, as choices by name. */
export async function choicesOf(visit: Visit, operation: string): Promise<{ value: string; text: string }[]> {
  const { records } = await visit.run<{ records: { id: string; name: string; title?: string }[] }>(
    operation,
    {
      limit: 100,
    },
  );
  return records.map(({ id, name, title }) => ({ value: id, text: title ?? name }));
}
