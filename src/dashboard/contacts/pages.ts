import { html, type Html } from '#libs/pages';
import { type DashboardWords } from '#locales';
import { invalid, type StreamedAnswer } from '#libs/rpc';
import { kindsIn } from '../belonging.js';
import { type Column, createdColumn, type Filter } from '../list-pages.js';
import { forExcel } from '../csv.js';
import { type PageDefinition } from '../page.js';
import {
  ConfirmForm,
  ButtonLink,
  CheckField,
  dateIn,
  Actions,
  Facts,
  fieldsFor,
  FormOf,
  TextField,
} from '../parts.js';
import { recordPages } from '../record-pages.js';
import { type SuppressionRecord } from '../../suppressions/index.js';
import { type FormInput, type PageContext } from '../page-context.js';
import { countryChoices, countryName } from '../../contacts/index.js';
import { type FieldRecord } from '../../fields/index.js';
import {
  choicesOf,
  contactOf,
  type ContactRecord,
  type Detail,
  DETAILS,
  filtersOf,
  nameOf,
  PLACES,
} from './contact.js';
import { ConsentsOf } from './consents.js';
import { customColumns, CustomInputs, customFieldsOf, factsOf, typedValues } from './custom-values.js';
import {
  choosing,
  erasePage,
  exportedIn,
  groupPage,
  UngroupLink,
  ungroupPage,
  unsubscribePage,
} from './group-page.js';
import { DeliveriesOf } from './deliveries.js';
import { BelongingOf } from './groups-of-contact.js';
import { notePages, NotesOf } from './notes.js';

/** No autocomplete: browsers would fill in the data of their user, not of the contact. */
const FIELDS: Partial<Record<Detail, 'tel'>> = { phone: 'tel', mobile: 'tel' };

const contacts = recordPages<ContactRecord>({
  section: 'contacts',
  record: 'contact',
  titleOf: nameOf,
  find: (context) => contactOf(context),
});

/** Columns that the list of contacts can show in addition to the usual ones. */
const MORE_COLUMNS: Column<ContactRecord>[] = [
  ...DETAILS.filter((name) => !['firstName', 'lastName', 'country'].includes(name)).map((key) => ({
    name: ({ contacts }: DashboardWords) => contacts.fields[key],
    key,
    cell: (contact: ContactRecord) => contact[key],
  })),
  {
    name: ({ contacts }) => contacts.fields.externalIds,
    key: 'externalIds',
    cell: ({ externalIds }) => externalIds.join(', '),
  },
];

export const contactPages: PageDefinition[] = [
  ...contacts.list({
    fields: filtersOf,
    filters: FiltersOf,
    actions: (context) => {
      const { words, person, address } = context;
      if (!person.may('contact:write')) return [];
      const { duplicates, import: importing } = words.contacts;
      return [
        UngroupLink(context),
        ButtonLink(address, 'contacts/import', importing, true),
        ButtonLink(address, 'contacts/duplicates', duplicates.find, true),
      ];
    },
    choose: choosing,
    columns: [
      contacts.titleColumn(),
      {
        name: ({ email }) => email,
        cell: ({ email, ...contact }) => (nameOf({ ...contact, email }) === email ? null : email),
        exported: ({ email }) => email,
        sort: 'email',
        key: 'email',
        isObvious: true,
      },
      {
        name: ({ contacts }) => contacts.subscribed,
        key: 'subscribed',
        cell: ({ subscribed }, { words }) => (subscribed ? words.yes : words.no),
      },
      {
        name: ({ contacts }) => contacts.fields.country,
        key: 'country',
        cell: ({ country }, { words }) => country && countryName(words.locale, country),
        exported: ({ country }) => country,
        isObvious: true,
      },
      { ...createdColumn(({ since }) => since), key: 'createdAt' },
    ],
    moreColumns: async (context) => [...MORE_COLUMNS, ...customColumns(await customFieldsOf(context))],
    exportBy: async (context) =>
      forExcel(
        context.words,
        await context.api.run<StreamedAnswer>('contact.export-contacts', {
          format: 'csv',
          ...exportedIn(context),
        }),
      ),
  }),
  ...contacts.writing({
    newTitle: ({ contacts }) => contacts.adding.title,
    editTitle: ({ contacts }, name) => contacts.editing.title(name),
    content: async (context, contact) => {
      const { adding, editing } = context.words.contacts;
      const isTicked = contact?.subscribed === true;
      const subscribe = CheckField(context.form, { name: 'subscribed', label: adding.subscribe, isTicked });
      const fields = [...FieldsOf(context, await customFieldsOf(context), contact), subscribe];
      const { button } = contact ? editing : adding;
      return html`<div class="text">
        ${contact ? null : html`<p class="lead">${adding.hint}</p>`}
        ${FormOf(context.form, { fields, button, of: contact })}
      </div>`;
    },
    input: async (context, contact) => ({
      ...(contact ? {} : { organizationId: context.api.organizationId }),
      ...typedIn(context.form, await customFieldsOf(context)),
    }),
  }),
  ...notePages,
  groupPage,
  unsubscribePage,
  erasePage,
  ungroupPage,
  contacts.shownWith(
    (context, found) => {
      const contactId = context.address.params.contact!;
      return Promise.all([
        found.then((one) => MailsTo(context, one)),
        BelongingOf(context, contactId),
        NotesOf(context, contactId),
        DeliveriesOf(context, contactId),
        ConsentsOf(context, contactId),
        customFieldsOf(context),
      ]);
    },
    (context, contact, { mayWrite, link }, [mails, belonging, notes, deliveries, consents, customFields]) => {
      const { words, person } = context;
      const { edit, erase, merge, exportPerson, fields, subscribed } = words.contacts;
      return html`${Actions(
        [
          mayWrite && link('edit', edit, false),
          mayWrite && link('merge', merge),
          mayWrite && person.may('contact:export') && link('export', exportPerson),
          mayWrite && link('erase', erase),
        ],
        words,
      )}
      ${Facts([
        { name: fields.email, value: contact.email },
        { name: subscribed, value: mails },
        ...DETAILS.filter((name) => contact[name] !== null).map((name) => ({
          name: fields[name],
          value: DetailOf(context, name, contact[name]!),
        })),
        ...factsOf(words, customFields, contact.customFields),
        ...(contact.externalIds.length > 0
          ? [{ name: fields.externalIds, value: contact.externalIds.join(', ') }]
          : []),
        ...belonging,
        { name: words.since, value: dateIn(words, contact.createdAt) },
      ])}
      ${notes} ${deliveries} ${consents}`;
    },
  ),
  {
    path: 'contacts/:contact/export',
    needs: 'contact:export',
    show: ({ address, api }) =>
      api.run<StreamedAnswer>('contact.export-person', { contactId: address.params.contact }),
  },
  {
    path: 'contacts/:contact/merge',
    needs: 'contact:write',
    show: async (context) => {
      const { merging } = context.words.contacts;
      const contact = await contactOf(context);
      const name = nameOf(contact);
      const otherId = context.address.query('other');
      const back = { href: context.address.path(`contacts/${contact.id}`), text: name };
      if (!otherId) {
        const field = { name: 'email', label: merging.email, type: 'email', max: 254 } as const;
        const email = TextField(context.form, field);
        return context.view.page({
          section: 'contacts',
          back,
          title: merging.title(name),
          content: html`<div class="text">
            <p class="lead">${merging.hint(name)}</p>
            ${FormOf(context.form, { fields: [email], button: merging.find })}
          </div>`,
        });
      }
      const other = await contactOf(context, otherId);
      return context.view.page({
        section: 'contacts',
        back,
        title: merging.sure(name, nameOf(other)),
        content: html`${Facts([
          { name: name, value: contact.email },
          { name: nameOf(other), value: other.email },
        ])}
        ${ConfirmForm(context, {
          text: merging.text,
          button: merging.button,
          back: `contacts/${contact.id}`,
          fields: [html`<input type="hidden" name="other" value="${other.id}" />`],
          isFinal: true,
        })}`,
      });
    },
    act: async ({ address, form, api }) => {
      const contactId = address.params.contact!;
      const otherId = form.typed('other');
      if (otherId) {
        await api.run('contact.merge-contacts', { contactId, otherIds: [otherId] });
        return { to: `contacts/${contactId}`, done: 'contacts.merged' };
      }
      const { records } = await api.run<{ records: ContactRecord[] }>('contact.list-contacts', {
        email: form.typed('email') ?? '',
        limit: 1,
      });
      const [found] = records;
      // The same shape as the issues of an operation.
      if (!found) throw invalid([{ path: 'email', message: 'does not belong to any contact' }]);
      return { to: `contacts/${contactId}/merge?other=${found.id}` };
    },
  },
  contacts.step('erase', {
    ask: ({ words }, contact) => {
      const { title, text, button } = words.contacts.erasing;
      const name = nameOf(contact);
      return { title: title(name), text, button: button(name), isFinal: true };
    },
    act: async ({ address, api }) => {
      await api.run('contact.delete-contact', { contactId: address.params.contact });
      return { to: 'contacts', done: 'contacts.erased' };
    },
  }),
];

/** Places lead to the contacts who share them. */
function DetailOf({ words, address }: PageContext, name: Detail, value: string): Html | string {
  const shown = name === 'country' ? countryName(words.locale, value) : value;
  if (!PLACES.some((place) => place === name)) return shown;
  return html`<a href="${address.path(`contacts?${name}=${encodeURIComponent(value)}`)}">${shown}</a>`;
}

/** Whether a contact is subscribed. A suppressed address receives no email even then. */
async function MailsTo(
  { words, person, address, api }: PageContext,
  { email, subscribed }: ContactRecord,
): Promise<Html | string> {
  const agreed = subscribed ? words.yes : words.no;
  if (!person.may('suppression:read')) return agreed;
  const { records } = await api.run<{ records: SuppressionRecord[] }>('suppression.list-suppressions', {
    email,
    limit: 1,
  });
  const [blocked] = records;
  if (!blocked) return agreed;
  const path = address.path(`suppressions?email=${encodeURIComponent(email)}`);
  return html`<a href="${path}">${words.contacts.blocked(words.suppressions.reasons[blocked.reason])}</a>`;
}

function FieldsOf(
  context: PageContext,
  customFields: readonly FieldRecord[],
  contact?: ContactRecord,
): Html[] {
  const { fields, externalIdsHint: hint } = context.words.contacts;
  const { text, optionalText, optionalArea, select } = fieldsFor(context.form, fields, contact);
  const details = DETAILS.filter((name) => name !== 'bio').map((name) =>
    name === 'country'
      ? select(name, [{ value: '', text: '–' }, ...countryChoices(context.words.locale, contact?.country)])
      : optionalText(name, { type: FIELDS[name] ?? 'text', max: 500 }),
  );
  return [
    text('email', { type: 'email', max: 254 }),
    ...details,
    ...CustomInputs(context, customFields, contact?.customFields),
    optionalArea('bio'),
    optionalArea('externalIds', { hint, value: contact?.externalIds.join('\n') }),
  ];
}

/** The submitted fields. An empty field is null. */
function typedIn(form: FormInput, customFields: readonly FieldRecord[]): Record<string, unknown> {
  const details = DETAILS.map((name) => [name, form.typed(name)]);
  return {
    email: form.typed('email') ?? '',
    ...(Object.fromEntries(details) as Record<string, string | null>),
    customFields: typedValues(form, customFields),
    externalIds: (form.get('externalIds') ?? '').split(/\s+/).filter((id) => id !== ''),
    subscribed: form.has('subscribed'),
  };
}

async function FiltersOf(context: PageContext): Promise<Filter[]> {
  const { words } = context;
  const { filters } = words.contacts;
  const kinds = await Promise.all(
    kindsIn(context.person).map(async ({ object, idField }) => {
      const choices = await choicesOf(context, `${object}.list-${object}s`);
      const label = object === 'petition' ? filters.petition : words.kinds[object]!;
      return choices.length === 0 ? null : { name: idField, label, choices };
    }),
  );
  const subscribed = {
    name: 'subscribed',
    label: filters.subscribed,
    choices: [
      { value: 'true', text: words.yes },
      { value: 'false', text: words.no },
    ],
  };
  const places = PLACES.flatMap((name) => {
    const value = context.address.query(name);
    if (value === undefined) return [];
    const text = name === 'country' ? countryName(words.locale, value) : value;
    return { name, label: words.contacts.fields[name], choices: [{ value, text }] };
  });
  return [subscribed, ...kinds.filter((kind) => kind !== null), ...places];
}
