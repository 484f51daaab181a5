import { html, type Html, timeZones } from '#libs/pages';
import { Activity, type ActivityEvent } from '../../history/index.js';
import { LANGUAGES, type OrganizationRecord, publicLogId, senderId } from '../../organizations/index.js';
import { findImage, ImageField, Thumb } from '../image-choice.js';
import { type PageDefinition } from '../page.js';
import { CheckField, Facts, fieldsFor, SectionOf, TextField, TextForm } from '../parts.js';
import { ActivityLog } from '../activity-log.js';
import { type Api, type FormInput, type PageContext } from '../page-context.js';

const DEFAULT_COLOUR = '#0b57d0';

export const organizationPages: PageDefinition[] = [
  {
    path: 'organization',
    needs: 'organization:read',
    show: async (context) => {
      const { words } = context;
      const { organization: said, yes, no } = words;
      const { fields } = said;
      const [{ url, mailFrom, ...own }, past] = await Promise.all([
        organizationOf(context.api),
        ActivityLog(context, context.api.organizationId, settingsActivity(context.api)),
      ]);
      const logo = await findImage(context, own.imageId);
      const part = (title: string, path: string, facts: { name: string; value: Html | string | null }[]) =>
        SectionOf(title, [
          Facts(facts),
          context.person.may('organization:write')
            ? html`<p><a class="button plain" href="${context.address.path(path)}" aria-label="${said.change}: ${title}">${said.change}</a></p>`
            : null,
        ]);
      return context.view.page({
        section: 'organization',
        title: said.title,
        content: html`<p class="lead">${said.text}</p>
          ${part(said.who, 'organization/who', [
            { name: fields.name, value: own.name },
            { name: fields.website, value: own.website },
            { name: fields.email, value: own.email },
            { name: fields.country, value: own.country },
            { name: fields.language, value: said.languages[own.language] },
            { name: fields.publicLog, value: own.publicLog ? yes : no },
          ])}
          ${part(said.mails, 'organization/mails', [
            { name: fields.fromName, value: mailFrom?.name ?? null },
            { name: fields.fromAddress, value: mailFrom?.address ?? null },
            { name: fields.replyTo, value: own.replyTo },
            { name: fields.postalAddress, value: own.postalAddress },
          ])}
          ${part(said.pages, 'organization/pages', [
            { name: fields.page, value: url && html`<a href="${new URL(url).pathname}">${url}</a>` },
            { name: fields.colour, value: own.colour },
            ...(context.person.may('image:read') ? [{ name: fields.logo, value: logo && Thumb(logo) }] : []),
            { name: fields.privacyUrl, value: own.privacyUrl },
            { name: fields.timeZone, value: own.timeZone },
          ])}
          ${past}`,
      });
    },
  },
  form('who', ({ words, person, form }, own) => {
    const { fields, languages } = words.organization;
    const { text, optionalText, select } = fieldsFor(form, fields, own);
    return [
      text('name', { max: 200 }),
      optionalText('website', { type: 'url' }),
      optionalText('email', { type: 'email' }),
      optionalText('country'),
      select(
        'language',
        LANGUAGES.map((value) => ({ value, text: languages[value] })),
      ),
      // Only people who can read the history may decide whether it is public.
      person.may('history:read')
        ? CheckField(form, { name: 'publicLog', label: fields.publicLog, isTicked: own.publicLog })
        : null,
    ];
  }),
  form('mails', ({ words, form }, own) => {
    const { fromName, fromAddress, fromHint, postalHint, ...fields } = words.organization.fields;
    const { optionalText, optionalArea } = fieldsFor(form, fields, own);
    const { name, address } = own.mailFrom ?? {};
    return [
      TextField(form, { name: 'mailFrom.name', label: fromName, value: name, isOptional: true }),
      TextField(form, {
        name: 'mailFrom.address',
        label: fromAddress,
        hint: fromHint,
        value: address,
        type: 'email',
      }),
      optionalText('replyTo', { type: 'email' }),
      optionalArea('postalAddress', { hint: postalHint }),
    ];
  }),
  form('pages', async (context, own) => {
    const { text, optionalText, select } = fieldsFor(context.form, context.words.organization.fields, own);
    return [
      optionalText('slug', { max: 80 }),
      text('colour', { value: own.colour ?? DEFAULT_COLOUR, type: 'color' }),
      optionalText('privacyUrl', { type: 'url' }),
      select(
        'timeZone',
        [...new Set([own.timeZone, ...timeZones()])].map((zone) => ({ value: zone, text: zone })),
      ),
      await ImageField(context, own.imageId),
    ];
  }),
];

/** Includes other records that the forms change: the language, the sender, and whether anyone can verify the history. */
function settingsActivity(api: Api): Promise<ActivityEvent[]> {
  const { organizationId } = api;
  return api.find(Activity).latestOf(organizationId, [senderId(organizationId), publicLogId(organizationId)]);
}

function organizationOf(api: Api): Promise<OrganizationRecord> {
  return api.run<OrganizationRecord>('organization.get-organization');
}

/** One of three forms. Each changes only its own fields. */
function form(
  task: 'who' | 'mails' | 'pages',
  fieldsOf: (context: PageContext, own: OrganizationRecord) => (Html | null)[] | Promise<(Html | null)[]>,
): PageDefinition {
  return {
    path: `organization/${task}`,
    needs: 'organization:write',
    show: async (context) => {
      const { organization } = context.words;
      const own = await organizationOf(context.api);
      const fields = await fieldsOf(context, own);
      return context.view.page({
        section: 'organization',
        back: { href: context.address.path('organization'), text: organization.title },
        title: organization[task],
        content: TextForm(context.form, { fields, button: organization.save, of: own }),
      });
    },
    act: async (context) => {
      context.form.requireSame(await organizationOf(context.api));
      await context.api.run('organization.update-organization', typedIn(context, task));
      return { to: 'organization', done: 'organization.changed' };
    },
  };
}

function typedIn({ person, form }: PageContext, task: 'who' | 'mails' | 'pages'): Record<string, unknown> {
  const typed = (...names: string[]) => Object.fromEntries(names.map((name) => [name, form.typed(name)]));
  switch (task) {
    case 'who':
      return {
        ...typed('email', 'country'),
        website: typedAddress(form, 'website'),
        name: form.typed('name') ?? '',
        ...(form.has('language') ? { language: form.get('language') } : {}),
        ...(person.may('history:read') ? { publicLog: form.has('publicLog') } : {}),
      };
    case 'mails': {
      const address = form.typed('mailFrom.address');
      return {
        ...typed('replyTo', 'postalAddress'),
        mailFrom: { name: form.typed('mailFrom.name'), address: address ?? '' },
      };
    }
    case 'pages':
      return {
        ...typed('slug', 'colour'),
        privacyUrl: typedAddress(form, 'privacyUrl'),
        ...(form.has('timeZone') ? { timeZone: form.get('timeZone') } : {}),
        ...(form.has('imageId') ? { imageId: form.typed('imageId') } : {}),
      };
  }
}

/** Adds `https://`, which most people leave out because browsers hide it. */
function typedAddress(form: FormInput, name: string): string | null {
  const address = form.typed(name);
  return address === null || /^[a-z][a-z\d+.-]*:\/\//i.test(address) ? address : `https://${address}`;
}
