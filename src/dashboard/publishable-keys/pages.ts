import { html } from '#libs/pages';
import { PublicAddress } from '../../config/index.js';
import { ActivityLog } from '../activity-log.js';
import { listPages } from '../list-pages.js';
import { type FormInput, type PageContext } from '../page-context.js';
import { type PageDefinition } from '../page.js';
import {
  Actions,
  AreaField,
  ButtonLink,
  ConfirmForm,
  Facts,
  FormOf,
  SecretField,
  SectionOf,
  TextField,
  dateIn,
} from '../parts.js';

type PublishableKeyRecord = {
  id: string;
  createdAt: Date;
  updatedAt: Date;
  name: string;
  origins: string[];
  key: string;
};

const SECTION = 'publishableKeys';
const PATH = 'publishable-keys';

export const publishableKeyPages: PageDefinition[] = [
  ...listPages<PublishableKeyRecord>({
    path: PATH,
    section: SECTION,
    needs: 'api-key:read',
    operation: 'publishable-key.list-publishable-keys',
    title: ({ publishableKeys }) => publishableKeys.title,
    text: ({ publishableKeys }) => publishableKeys.text,
    empty: ({ publishableKeys }) => publishableKeys.none,
    search: ({ nameOf }) => nameOf,
    add: {
      path: `${PATH}/new`,
      text: ({ publishableKeys }) => publishableKeys.add,
      needs: 'api-key:write',
    },
    columns: [
      {
        name: ({ nameOf }) => nameOf,
        cell: ({ id, name }, { address }) => html`<a href="${address.path(`${PATH}/${id}`)}">${name}</a>`,
        exported: ({ name }) => name,
      },
      { name: ({ publishableKeys }) => publishableKeys.origins, cell: ({ origins }) => origins.join(', ') },
      { name: ({ made }) => made, cell: ({ createdAt }) => new Date(createdAt) },
    ],
  }),
  {
    path: `${PATH}/new`,
    needs: 'api-key:write',
    show: (context) =>
      Promise.resolve(
        context.view.page({
          section: SECTION,
          back: toAll(context),
          title: context.words.publishableKeys.add,
          content: WritingOf(context),
        }),
      ),
    act: async ({ form, api }) => {
      const { publishableKeyId } = await api.run<{ publishableKeyId: string }>(
        'publishable-key.create-publishable-key',
        typedIn(form),
      );
      return { to: `${PATH}/${publishableKeyId}`, done: `${SECTION}.created` };
    },
  },
  {
    path: `${PATH}/:publishable`,
    needs: 'api-key:read',
    show: async (context) => {
      const { words, address } = context;
      const { publishableKeys, keys, posts } = words;
      const [record, past] = await Promise.all([
        keyOf(context),
        ActivityLog(context, address.params.publishable!),
      ]);
      const { id, name, origins, key, createdAt } = record;
      const sends = `fetch('${context.api.find(PublicAddress).url}/v1/petition.request-signature', {
  method: 'POST',
  headers: { Authorization: 'Bearer ${key}', 'Content-Type': 'application/json' },
  body: JSON.stringify({ petitionId, contact: { email, firstName } }),
});`;
      return context.view.page({
        section: SECTION,
        back: toAll(context),
        title: name,
        content: html`${
          context.person.may('api-key:write')
            ? Actions([
                ButtonLink(address, `${PATH}/${id}/edit`, posts.edit),
                ButtonLink(address, `${PATH}/${id}/revoke`, keys.revoke, true),
              ])
            : null
        }
        ${Facts([
          {
            name: publishableKeys.origins,
            value: html`<ul>${origins.map((one) => html`<li>${one}</li>`)}</ul>`,
          },
          { name: words.made, value: dateIn(words, createdAt) },
        ])}
        <div class="text">${SecretField(words, { name: 'key', label: publishableKeys.key, value: key })}</div>
        ${SectionOf(publishableKeys.use, html`<pre class="code" tabindex="0">${sends}</pre>`)}
        ${past}`,
      });
    },
  },
  {
    path: `${PATH}/:publishable/edit`,
    needs: 'api-key:write',
    show: async (context) => {
      const record = await keyOf(context);
      return context.view.page({
        section: SECTION,
        back: { href: context.address.path(`${PATH}/${record.id}`), text: record.name },
        title: `${context.words.posts.edit}: ${record.name}`,
        content: WritingOf(context, record),
      });
    },
    act: async (context) => {
      const record = await keyOf(context);
      context.form.requireSame(record);
      await context.api.run('publishable-key.update-publishable-key', {
        publishableKeyId: record.id,
        ...typedIn(context.form),
      });
      return { to: `${PATH}/${record.id}`, done: `${SECTION}.changed` };
    },
  },
  {
    path: `${PATH}/:publishable/revoke`,
    needs: 'api-key:write',
    show: async (context) => {
      const { revoking } = context.words.publishableKeys;
      const { id, name } = await keyOf(context);
      return context.view.page({
        section: SECTION,
        title: revoking.title(name),
        content: ConfirmForm(context, {
          text: revoking.text,
          button: revoking.button(name),
          back: `${PATH}/${id}`,
          isFinal: true,
        }),
      });
    },
    act: async ({ address, api }) => {
      await api.run('publishable-key.revoke-publishable-key', {
        publishableKeyId: address.params.publishable,
      });
      return { to: PATH, done: `${SECTION}.revoked` };
    },
  },
];

function toAll({ words, address }: PageContext) {
  return { href: address.path(PATH), text: words.publishableKeys.title };
}

function keyOf({ address, api }: PageContext): Promise<PublishableKeyRecord> {
  return api.run('publishable-key.get-publishable-key', { publishableKeyId: address.params.publishable });
}

function WritingOf({ form, words }: PageContext, record?: PublishableKeyRecord) {
  const { origins, originsHint, create } = words.publishableKeys;
  const fields = [
    TextField(form, { name: 'name', label: words.nameOf, value: record?.name, max: 200 }),
    AreaField(form, {
      name: 'origins',
      label: origins,
      hint: originsHint,
      value: record?.origins.join('\n'),
    }),
  ];
  return html`<div class="text">${FormOf(form, { fields, button: record ? words.save : create, of: record })}</div>`;
}

/** People paste the address of a page, so everything after its origin is left out. */
function typedIn(form: FormInput) {
  const typed = (form.get('origins') ?? '').split(/\s+/).filter((one) => one !== '');
  const origins = typed.map((one) => (URL.canParse(one) ? new URL(one).origin : one));
  return { name: form.typed('name') ?? '', origins };
}
