import { html } from '#libs/pages';
import { PublicAddress } from '../../config/index.js';
import { type FormInput, type PageContext } from '../page-context.js';
import { createdColumn } from '../list-pages.js';
import { type PageDefinition } from '../page.js';
import { Actions, AreaField, dateIn, Facts, SecretField, SectionOf, TextField, TextForm } from '../parts.js';
import { recordPages } from '../record-pages.js';

type PublishableKeyRecord = {
  id: string;
  createdAt: Date;
  updatedAt: Date;
  name: string;
  origins: string[];
  key: string;
};

const publishableKeys = recordPages<PublishableKeyRecord>({
  section: 'publishableKeys',
  path: 'publishable-keys',
  record: 'publishable-key',
  param: 'publishable',
  scope: 'api-key',
});

export const publishableKeyPages: PageDefinition[] = [
  ...publishableKeys.list({
    search: ({ nameOf }) => nameOf,
    columns: [
      publishableKeys.titleColumn(),
      { name: ({ publishableKeys }) => publishableKeys.origins, cell: ({ origins }) => origins.join(', ') },
      createdColumn(),
    ],
  }),
  ...publishableKeys.writing({ content: WritingOf, input: ({ form }) => typedIn(form) }),
  publishableKeys.shown(({ words, api }, { origins, key, createdAt }, { mayWrite, link }) => {
    const { publishableKeys, keys, posts } = words;
    const sends = `fetch('${api.find(PublicAddress).url}/v1/petition.request-signature', {
  method: 'POST',
  headers: { Authorization: 'Bearer ${key}', 'Content-Type': 'application/json' },
  body: JSON.stringify({ petitionId, contact: { email, firstName } }),
});`;
    return html`${Actions([
      mayWrite && link('edit', posts.edit, false),
      mayWrite && link('revoke', keys.revoke),
    ])}
    ${Facts([
      {
        name: publishableKeys.origins,
        value: html`<ul>${origins.map((one) => html`<li>${one}</li>`)}</ul>`,
      },
      { name: words.made, value: dateIn(words, createdAt) },
    ])}
    <div class="text">${SecretField(words, { name: 'key', label: publishableKeys.key, value: key })}</div>
    ${SectionOf(publishableKeys.use, html`<pre class="code" tabindex="0">${sends}</pre>`)}`;
  }),
  publishableKeys.step('revoke', {
    ask: ({ words }, { name }) => {
      const { title, text, button } = words.publishableKeys.revoking;
      return { title: title(name), text, button: button(name), isFinal: true };
    },
    ...{ done: 'revoked', all: true },
  }),
];

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
  return TextForm(form, { fields, button: record ? words.save : create, of: record });
}

/** People paste the address of a page, so everything after its origin is left out. */
function typedIn(form: FormInput) {
  const typed = (form.get('origins') ?? '').split(/\s+/).filter((one) => one !== '');
  const origins = typed.map((one) => (URL.canParse(one) ? new URL(one).origin : one));
  return { name: form.typed('name') ?? '', origins };
}
