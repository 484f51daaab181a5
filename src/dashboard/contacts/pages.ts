import { html, type Html } from '#libs/pages';
import { invalid, type StreamedAnswer } from '#libs/rpc';
import { belongingOf, kindsIn } from '../belonging.js';
import { FilterField, listPages } from '../list-pages.js';
import { forExcel } from '../csv.js';
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
  SelectField,
  TextField,
} from '../parts.js';
import { ActivityLog } from '../activity-log.js';
import { type SuppressionRecord } from '../../suppressions/index.js';
import { type FormInput, type PageContext } from '../page-context.js';
import { countryChoices, countryName } from '../../contacts/index.js';
import { sectionOf } from '../sections.js';
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
  toContacts,
} from './contact.js';
import { ConsentsOf } from './consents.js';
import { CustomInputs, customFieldsOf, factsOf, typedValues } from './custom-values.js';
import { canGroup, choosing, groupPage } from './group-page.js';

/** No autocomplete: browsers would fill in the data of their user, not of the contact. */
const FIELDS: Partial<Record<Detail, 'tel'>> = { phone: 'tel', mobile: 'tel' };

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
    actions: ({ words, person, address }) => [
      person.may('contact:write')
        ? ButtonLink(address, 'contacts/import', words.contacts.import, true)
        : null,
      person.may('contact:write')
        ? ButtonLink(address, 'contacts/duplicates', words.contacts.duplicates.find, true)
        : null,
    ],
    choose: choosing,
    columns: [
      {
        name: ({ nameOf }) => nameOf,
        cell: (contact, { address }) =>
          html`<a href="${address.path(`contacts/${contact.id}`)}">${nameOf(contact)}</a>`,
        exported: nameOf,
      },
      {
        name: ({ email }) => email,
        cell: ({ email, ...contact }) => (nameOf({ ...contact, email }) === email ? null : email),
        exported: ({ email }) => email,
        isObvious: true,
      },
      {
        name: ({ contacts }) => contacts.subscribed,
        cell: ({ subscribed }, { words }) => (subscribed ? words.yes : words.no),
      },
      {
        name: ({ contacts }) => contacts.fields.country,
        cell: ({ country }, { words }) => country && countryName(words.locale, country),
        exported: ({ country }) => country,
        isObvious: true,
      },
      { name: ({ since }) => since, cell: ({ createdAt }) => new Date(createdAt), isObvious: true },
    ],
    exportBy: async (context) =>
      forExcel(
        context.words,
        await context.api.run<StreamedAnswer>('contact.export-contacts', {
          format: 'csv',
          q: context.address.query('q'),
          ...filtersOf(context),
        }),
      ),
  }),
  {
    path: 'contacts/new',
    needs: 'contact:write',
    show: async (context) => {
      const { contacts } = context.words;
      const subscribe = CheckField(context.form, { name: 'subscribed', label: contacts.adding.subscribe });
      const fields = [...FieldsOf(context, await customFieldsOf(context)), subscribe];
      return context.view.page({
        section: 'contacts',
        back: toContacts(context),
        title: contacts.adding.title,
        content: html`<div class="text">
          <p class="lead">${contacts.adding.hint}</p>
          ${FormOf(context.form, { fields, button: contacts.adding.button })}
        </div>`,
      });
    },
    act: async (context) => {
      const { contactId } = await context.api.run<{ contactId: string }>('contact.create-contact', {
        organizationId: context.api.organizationId,
        ...typedIn(context.form, await customFieldsOf(context)),
      });
      return { to: `contacts/${contactId}`, done: 'contacts.created' };
    },
  },
  groupPage,
  {
    path: 'contacts/:contact',
    needs: 'contact:read',
    show: async (context) => {
      const { words } = context;
      const found = contactOf(context);
      const [contact, mails, belonging, consents, past, customFields] = await Promise.all([
        found,
        found.then((one) => MailsTo(context, one)),
        BelongingOf(context, context.address.params.contact!),
        ConsentsOf(context, context.address.params.contact!),
        ActivityLog(context, context.address.params.contact!),
        customFieldsOf(context),
      ]);
      const { edit, erase, merge, addTo, exportPerson, fields, subscribed } = words.contacts;
      return context.view.page({
        section: 'contacts',
        back: toContacts(context),
        title: nameOf(contact),
        content: html`${
          context.person.may('contact:write')
            ? Actions([
                ButtonLink(context.address, `contacts/${contact.id}/edit`, edit),
                canGroup(context.person)
                  ? ButtonLink(context.address, `contacts/group?contact=${contact.id}`, addTo, true)
                  : null,
                ButtonLink(context.address, `contacts/${contact.id}/merge`, merge, true),
                context.person.may('contact:export')
                  ? ButtonLink(context.address, `contacts/${contact.id}/export`, exportPerson, true)
                  : null,
                ButtonLink(context.address, `contacts/${contact.id}/erase`, erase, true),
              ])
            : null
        }
        ${Facts([
          { name: fields.email, value: contact.email },
          { name: subscribed, value: mails },
          ...DETAILS.filter((name) => contact[name] !== null).map((name) => ({
            name: fields[name],
            value: DetailOf(context, name, contact[name]!),
          })),
          ...factsOf(context.words, customFields, contact.customFields),
          ...(contact.externalIds.length > 0
            ? [{ name: fields.externalIds, value: contact.externalIds.join(', ') }]
            : []),
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
    show: async (context) => {
      const { contacts } = context.words;
      const [contact, customFields] = await Promise.all([contactOf(context), customFieldsOf(context)]);
      const subscribe = CheckField(context.form, {
        name: 'subscribed',
        label: contacts.adding.subscribe,
        isTicked: contact.subscribed,
      });
      return context.view.page({
        section: 'contacts',
        back: { href: context.address.path(`contacts/${contact.id}`), text: nameOf(contact) },
        title: contacts.editing.title(nameOf(contact)),
        content: html`<div class="text">
          ${FormOf(context.form, { fields: [...FieldsOf(context, customFields, contact), subscribe], button: contacts.editing.button, of: contact })}
        </div>`,
      });
    },
    act: async (context) => {
      const contactId = context.address.params.contact!;
      context.form.requireSame(await contactOf(context));
      await context.api.run('contact.update-contact', {
        contactId,
        ...typedIn(context.form, await customFieldsOf(context)),
      });
      return { to: `contacts/${contactId}`, done: 'contacts.changed' };
    },
  },
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
        const email = TextField(context.form, {
          name: 'email',
          label: merging.email,
          type: 'email',
          max: 254,
        });
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
  {
    path: 'contacts/:contact/erase',
    needs: 'contact:write',
    show: async (context) => {
      const contact = await contactOf(context);
      const { title, text, button } = context.words.contacts.erasing;
      const name = nameOf(contact);
      return context.view.page({
        section: 'contacts',
        title: title(name),
        content: ConfirmForm(context, {
          text,
          button: button(name),
          back: `contacts/${contact.id}`,
          isFinal: true,
        }),
      });
    },
    act: async ({ address, api }) => {
      await api.run('contact.delete-contact', { contactId: address.params.contact });
      return { to: 'contacts', done: 'contacts.erased' };
    },
  },
];

/** Places lead to the contacts who share them. */
function DetailOf({ words, address }: PageContext, name: Detail, value: string): Html | string {
  const shown = name === 'country' ? countryName(words.locale, value) : value;
  if (!PLACES.some((place) => place === name)) return shown;
  return html`<a href="${address.path(`contacts?${name}=${encodeURIComponent(value)}`)}">${shown}</a>`;
}

async function BelongingOf(context: PageContext, contactId: string) {
  const { contacts, sections } = context.words;
  return (await belongingOf(context, contactId)).map(({ kind, links, hasMore }) => ({
    name: kind === 'petition' ? contacts.signed : sections[sectionOf(kind)!]!,
    value:
      links.length === 0
        ? null
        : html`${links.map((link, n) => (n === 0 ? link : html`, ${link}`))}${hasMore ? html`, ${contacts.andOthers}` : null}`,
  }));
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
  const { fields } = context.words.contacts;
  const email = TextField(context.form, {
    name: 'email',
    label: fields.email,
    value: contact?.email,
    type: 'email',
    max: 254,
  });
  const details = DETAILS.filter((name) => name !== 'bio').map((name) => {
    const field = { name, label: fields[name], value: contact?.[name], isOptional: true };
    return name === 'country'
      ? SelectField(context.form, {
          ...field,
          choices: [{ value: '', text: '–' }, ...countryChoices(context.words.locale, field.value)],
        })
      : TextField(context.form, { ...field, type: FIELDS[name] ?? 'text', max: 500 });
  });
  const bio = AreaField(context.form, {
    name: 'bio',
    label: fields.bio,
    value: contact?.bio,
    isOptional: true,
  });
  const externalIds = AreaField(context.form, {
    name: 'externalIds',
    label: fields.externalIds,
    hint: context.words.contacts.externalIdsHint,
    value: contact?.externalIds.join('\n'),
    isOptional: true,
  });
  return [email, ...details, ...CustomInputs(context, customFields, contact?.customFields), bio, externalIds];
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

async function FiltersOf(context: PageContext): Promise<Html[]> {
  const { words } = context;
  const { filters } = words.contacts;
  const kinds = await Promise.all(
    kindsIn(context.person).map(async ({ object, idField }) => {
      const choices = await choicesOf(context, `${object}.list-${object}s`);
      const label = object === 'petition' ? filters.petition : words.kinds[object]!;
      return choices.length === 0 ? null : FilterField(context, { name: idField, label, choices });
    }),
  );
  const subscribed = FilterField(context, {
    name: 'subscribed',
    label: filters.subscribed,
    choices: [
      { value: 'true', text: words.yes },
      { value: 'false', text: words.no },
    ],
  });
  const places = PLACES.flatMap((name) => {
    const value = context.address.query(name);
    if (value === undefined) return [];
    const text = name === 'country' ? countryName(words.locale, value) : value;
    return FilterField(context, { name, label: words.contacts.fields[name], choices: [{ value, text }] });
  });
  return [subscribed, ...kinds.filter((kind) => kind !== null), ...places];
}
