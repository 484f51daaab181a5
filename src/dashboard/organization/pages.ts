import { EventStore, type RecordedEvent } from '#libs/event-store';
import { html, type Html } from '#libs/pages';
import { publicLogId, senderId } from '../../organizations/index.js';
import { findImage, ImageField, Thumb } from '../images/choice.js';
import { type PageDefinition } from '../page.js';
import { AreaField, CheckField, Facts, FormOf, SectionOf, SelectField, TextField } from '../parts.js';
import { ActivityLog } from '../activity-log.js';
import { type Visit } from '../visit.js';

type OrganizationRecord = {
  updatedAt: string;
  id: string;
  name: string;
  website: string | null;
  email: string | null;
  country: string | null;
  publicLog: boolean;
  mailFrom: { name: string | null; address: string } | null;
  replyTo: string | null;
  postalAddress: string | null;
  language: 'en' | 'de' | 'fr' | 'es';
  slug: string | null;
  url: string | null;
  colour: string | null;
  imageId: string | null;
  privacyUrl: string | null;
};

const LANGUAGES = ['en', 'de', 'fr', 'es'] as const;
/** Most events to read from each of its other streams. */
const MOST_BESIDE = 50;
const DEFAULT_COLOUR = '#0b57d0';

export const organizationPages: PageDefinition[] = [
  {
    path: 'organization',
    needs: 'organization:read',
    show: async (visit) => {
      const { words } = visit;
      const { organization: said, yes, no } = words;
      const { fields } = said;
      const [{ url, mailFrom, ...own }, past] = await Promise.all([
        organizationOf(visit),
        ActivityLog(visit, visit.organizationId, besideOf(visit)),
      ]);
      const logo = await findImage(visit, own.imageId);
      const part = (title: string, path: string, facts: { name: string; value: Html | string | null }[]) =>
        SectionOf(title, [
          Facts(facts),
          visit.may('organization:write')
            ? html`<p><a href="${visit.path(path)}" aria-label="${title}: ${said.change}">${said.change}</a></p>`
            : null,
        ]);
      return visit.page({
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
            { name: fields.page, value: url },
            { name: fields.colour, value: own.colour },
            ...(visit.may('image:read') ? [{ name: fields.logo, value: logo && Thumb(logo) }] : []),
            { name: fields.privacyUrl, value: own.privacyUrl },
          ])}
          ${url === null ? null : html`<p>${ButtonOfPage(url, fields.page)}</p>`} ${past}`,
      });
    },
  },
  form('who', (visit, own) => {
    const { fields, languages } = visit.words.organization;
    return [
      TextField(visit, { name: 'name', label: fields.name, value: own.name, max: 200 }),
      TextField(visit, {
        name: 'website',
        label: fields.website,
        value: own.website,
        type: 'url',
        isOptional: true,
      }),
      TextField(visit, {
        name: 'email',
        label: fields.email,
        value: own.email,
        type: 'email',
        isOptional: true,
      }),
      TextField(visit, { name: 'country', label: fields.country, value: own.country, isOptional: true }),
      SelectField(visit, {
        name: 'language',
        label: fields.language,
        value: own.language,
        choices: LANGUAGES.map((value) => ({ value, text: languages[value] })),
      }),
      // Only people who can read the history decide whether it is public.
      visit.may('history:read')
        ? CheckField(visit, { name: 'publicLog', label: fields.publicLog, isTicked: own.publicLog })
        : null,
    ];
  }),
  form('mails', (visit, own) => {
    const { fields } = visit.words.organization;
    return [
      TextField(visit, {
        name: 'mailFrom.name',
        label: fields.fromName,
        value: own.mailFrom?.name,
        isOptional: true,
      }),
      TextField(visit, {
        name: 'mailFrom.address',
        label: fields.fromAddress,
        hint: fields.fromHint,
        value: own.mailFrom?.address,
        type: 'email',
      }),
      TextField(visit, {
        name: 'replyTo',
        label: fields.replyTo,
        value: own.replyTo,
        type: 'email',
        isOptional: true,
      }),
      AreaField(visit, {
        name: 'postalAddress',
        label: fields.postalAddress,
        hint: fields.postalHint,
        value: own.postalAddress,
        isOptional: true,
      }),
    ];
  }),
  form('pages', async (visit, own) => {
    const { fields } = visit.words.organization;
    return [
      TextField(visit, {
        name: 'slug',
        label: fields.slug,
        hint: fields.slugHint,
        value: own.slug,
        max: 80,
        isOptional: true,
      }),
      TextField(visit, {
        name: 'colour',
        label: fields.colour,
        value: own.colour ?? DEFAULT_COLOUR,
        type: 'color',
      }),
      TextField(visit, {
        name: 'privacyUrl',
        label: fields.privacyUrl,
        value: own.privacyUrl,
        type: 'url',
        isOptional: true,
      }),
      await ImageField(visit, own.imageId),
    ];
  }),
];

function ButtonOfPage(url: string, text: string): Html {
  return html`<a class="button plain" href="${new URL(url).pathname}">${text}</a>`;
}

/** The forms also write to other streams: language and sender, and whether anyone can verify the history. */
async function besideOf(visit: Visit): Promise<RecordedEvent[]> {
  const { organizationId } = visit;
  const store = visit.find(EventStore);
  const streams = [senderId(organizationId), publicLogId(organizationId)];
  const read = await Promise.all(streams.map((id) => store.readAbout(organizationId, id, MOST_BESIDE)));
  return read.flatMap(({ events }) => events);
}

function organizationOf(visit: Visit): Promise<OrganizationRecord> {
  return visit.run<OrganizationRecord>('organization.get-organization');
}

/** One of three forms. Each changes only its own fields. */
function form(
  task: 'who' | 'mails' | 'pages',
  fieldsOf: (visit: Visit, own: OrganizationRecord) => (Html | null)[] | Promise<(Html | null)[]>,
): PageDefinition {
  return {
    path: `organization/${task}`,
    needs: 'organization:write',
    show: async (visit) => {
      const { organization } = visit.words;
      const own = await organizationOf(visit);
      const fields = await fieldsOf(visit, own);
      return visit.page({
        section: 'organization',
        back: { href: visit.path('organization'), text: organization.title },
        title: organization[task],
        content: html`<div class="text">${FormOf(visit, { fields, button: organization.save, of: own })}</div>`,
      });
    },
    act: async (visit) => {
      visit.requireSame(await organizationOf(visit));
      await visit.run('organization.update-organization', typedIn(visit, task));
      return { to: 'organization', done: 'organization.changed' };
    },
  };
}

function typedIn(visit: Visit, task: 'who' | 'mails' | 'pages'): Record<string, unknown> {
  const typed = (...names: string[]) => Object.fromEntries(names.map((name) => [name, visit.typed(name)]));
  switch (task) {
    case 'who':
      return {
        ...typed('email', 'country'),
        website: typedAddress(visit, 'website'),
        name: visit.typed('name') ?? '',
        ...(visit.form.has('language') ? { language: visit.form.get('language') } : {}),
        ...(visit.may('history:read') ? { publicLog: visit.form.has('publicLog') } : {}),
      };
    case 'mails': {
      const address = visit.typed('mailFrom.address');
      return {
        ...typed('replyTo', 'postalAddress'),
        mailFrom: { name: visit.typed('mailFrom.name'), address: address ?? '' },
      };
    }
    case 'pages':
      return {
        ...typed('slug', 'colour'),
        privacyUrl: typedAddress(visit, 'privacyUrl'),
        ...(visit.form.has('imageId') ? { imageId: visit.typed('imageId') } : {}),
      };
  }
}

/** Adds `https://`, because most people type addresses without it, as browsers show them. */
function typedAddress(visit: Visit, name: string): string | null {
  const address = visit.typed(name);
  return address === null || /^[a-z][a-z\d+.-]*:\/\//i.test(address) ? address : `https://${address}`;
}
