import { stringify } from 'csv-stringify/sync';
import { Readable } from 'node:stream';
import { html, type Html } from '#libs/pages';
import { invalid, RpcError, StreamedAnswer } from '#libs/rpc';
import { faultIn } from '../faults.js';
import { harmless } from '../list-pages.js';
import { type PageDefinition } from '../page.js';
import {
  ButtonLink,
  ChoiceField,
  Actions,
  Facts,
  FileField,
  FormOf,
  inQuarters,
  Live,
  numberIn,
  Progress,
  SectionOf,
  SelectField,
  Table,
  timeIn,
} from '../parts.js';
import { type PageContext } from '../page-context.js';
import { isConsent, isEvidence, type Meaning, MEANINGS } from '../../contacts/index.js';
import {
  type ContactImport,
  ImportJobs,
  type ImportPlan,
  LARGEST_TABLE,
  MOST_FAILED,
} from '../../contacts/import/jobs/index.js';
import { choicesOf, toContacts } from './pages.js';

export const importPages: PageDefinition[] = [
  {
    path: 'contacts/import',
    needs: 'contact:write',
    takesFile: true,
    show: async (context) => {
      const { imports } = context.words.contacts;
      const lists = context.may('list:write') ? await choicesOf(context, 'list.list-lists') : [];
      const fields = [
        ChoiceField(context, {
          name: 'onConflict',
          label: imports.conflict,
          values: ['fail'],
          choices: [
            { value: 'fail', text: imports.fail },
            { value: 'update', text: imports.update },
          ],
        }),
        lists.length === 0
          ? context.may('list:write')
            ? html`<p class="hint">${imports.listFirst}</p>`
            : null
          : SelectField(context, {
              name: 'listId',
              label: imports.list,
              hint: imports.listHint,
              isOptional: true,
              choices: [{ value: '', text: imports.noList }, ...lists],
            }),
        FileField(context, {
          name: 'file',
          label: imports.file,
          hint: imports.fileHint,
          accept: '.csv,text/csv,text/plain',
        }),
      ];
      return context.page({
        section: 'contacts',
        back: toContacts(context),
        title: imports.title,
        content: html`<div class="text">
          <p class="lead">${imports.text}</p>
            ${FormOf(context, { fields, button: imports.look, takesFile: true })}
          </div>
          ${await StartedImports(context)}`,
      });
    },
    act: async (context) => {
      const file = await context.upload();
      if (!file) throw invalid([{ path: 'file', message: 'is no file' }]);
      const id = await context.find(ImportJobs).keep(userOf(context), {
        file: file.name,
        bytes: await wholeOf(context, file.bytes),
        onConflict: context.form.get('onConflict') === 'update' ? 'update' : 'fail',
        listId: context.may('list:write') ? context.typed('listId') : null,
      });
      return { to: `contacts/import/${id}` };
    },
  },
  {
    path: 'contacts/import/:import',
    needs: 'contact:write',
    show: async (context) => {
      const found = await context.find(ImportJobs).find(context.organizationId, context.params.import!);
      return found.status === 'KEPT' ? preview(context, found) : progress(context, found);
    },
    act: async (context) => {
      const id = context.params.import!;
      await context.find(ImportJobs).begin(userOf(context), id, {
        meaningOf: (column) => meaningIn(context.form.get(`column-${column}`)),
        agreed: context.form.has('agreed'),
      });
      return { to: `contacts/import/${id}` };
    },
  },
  {
    path: 'contacts/import/:import/wrong-lines',
    needs: 'contact:write',
    show: fileOfWrong,
  },
];

function userOf({ organizationId, person }: PageContext) {
  return { organizationId, userId: person.session.userId };
}

async function wholeOf(context: PageContext, bytes: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of bytes) {
    size += chunk.length;
    if (size > LARGEST_TABLE)
      throw new RpcError('PAYLOAD_TOO_LARGE', context.words.contacts.imports.tooLarge);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The choice for a column that looks like an opt-out but is not. */
const UNRELATED = 'unrelated';

/** The meaning chosen for a column; undefined if none was. */
function meaningIn(chosen: string | null): Meaning | null | undefined {
  return chosen ? (MEANINGS.find((meaning) => meaning === chosen) ?? null) : undefined;
}

/** Links to imports that were started, for people who have left their page. */
async function StartedImports(context: PageContext): Promise<Html | null> {
  const { words } = context;
  const { imports } = words.contacts;
  const begun = await context.find(ImportJobs).listStarted(context.organizationId);
  if (begun.length === 0) return null;
  const rows = begun.map(({ id, file, status, madeAt }) => [
    html`<a href="${context.path(`contacts/import/${id}`)}">${file}</a>`,
    imports.states[status],
    timeIn(words, madeAt),
  ]);
  const columns = [{ name: imports.table }, { name: words.state }, { name: imports.when }];
  return SectionOf(imports.begun, Table({ caption: imports.begun, columns, rows }));
}

function nameOfField({ words }: PageContext, field: Meaning): string {
  const { contacts } = words;
  if (isConsent(field)) return contacts.imports.consents[field];
  if (isEvidence(field)) return contacts.imports.evidence[field];
  const { name, tags, lists } = contacts.imports;
  const ofImports = { name, tags, lists };
  return field in ofImports
    ? ofImports[field as keyof typeof ofImports]
    : contacts.fields[field as keyof typeof contacts.fields];
}

function preview(context: PageContext, { about, lines }: ContactImport) {
  const { imports } = context.words.contacts;
  const fields = MEANINGS.filter(
    (field) =>
      (field !== 'tags' || context.may('tag:write')) && (field !== 'lists' || context.may('list:write')),
  );
  const chosen = fields.map((field) => ({ value: field, text: nameOfField(context, field) }));
  const choices = [{ value: '', text: imports.ignored }, ...chosen];
  const choicesOfSuspect = [
    { value: '', text: imports.undecided },
    ...chosen,
    { value: UNRELATED, text: imports.unrelated },
  ];
  const columns = about.columns.map((column, n) =>
    SelectField(context, {
      name: `column-${n}`,
      label: column === '' ? `${imports.column} ${n + 1}` : column,
      hint: exampleOf(context, about, n),
      value: about.meanings[n] ?? '',
      isOptional: true,
      choices: about.suspects?.includes(n) ? choicesOfSuspect : choices,
    }),
  );
  return context.page({
    section: 'contacts',
    back: { href: context.path('contacts/import'), text: imports.again },
    title: imports.preview,
    content: html`<p class="lead">${imports.previewText(about.file)}</p>
      <div class="text">
        ${FormOf(context, { fields: [...columns, ConsentField(context)], button: imports.start(lines) })}
      </div>`,
  });
}

/** Requires an explicit tick, so that a forgotten column never subscribes anyone. */
function ConsentField(context: PageContext): Html {
  const { consent, agreed, agreedHint } = context.words.contacts.imports;
  return ChoiceField(context, {
    name: 'agreed',
    label: consent,
    hint: agreedHint,
    choices: [{ value: 'true', text: agreed }],
    isMany: true,
  });
}

function exampleOf({ words }: PageContext, { examples }: ImportPlan, n: number): string {
  const cells = examples.map((row) => row[n]?.trim() ?? '').filter((cell) => cell !== '');
  return cells.length === 0
    ? words.contacts.imports.noExample
    : `${words.contacts.imports.example}: ${cells.slice(0, 3).join(' · ')}`;
}

function progress(context: PageContext, { id, status, lines, linesDone, result, about }: ContactImport) {
  const { words } = context;
  const { imports } = words.contacts;
  const isGoing = status === 'RUNNING';
  const state = isGoing ? imports.going : status === 'DONE' ? imports.done : imports.failed;
  return context.page({
    section: 'contacts',
    back: toContacts(context),
    // The title of a background tab shows when the import has finished.
    title: isGoing ? imports.title : state,
    heading: imports.title,
    content: html`<p class="lead">${about.file}</p>
      <h2>${state}</h2>
      ${isGoing ? html`<p>${imports.goingText}</p>` : null}
      ${Live(context, { isGoing, status: isGoing ? inQuarters(state, linesDone, lines) : state })}
      ${Progress({ words, label: imports.lines, value: isGoing ? linesDone : lines, max: lines })}
      ${result ? ResultOf(context, { id, about }, result) : null}`,
  });
}

function ResultOf(
  context: PageContext,
  { id, about }: Pick<ContactImport, 'id' | 'about'>,
  result: NonNullable<ContactImport['result']>,
): Html {
  const { words } = context;
  const { imports } = words.contacts;
  const { answer } = result;
  if (answer === null)
    return html`<div class="faults" role="alert"><p>${failureIn(context, result)}</p><p>${imports.failedText}</p></div>`;
  const { created, updated, unchanged, failed, failedCount } = answer;
  return html`<div role="status">
      ${Facts([
        { name: imports.created, value: numberIn(words, created) },
        { name: imports.updated, value: numberIn(words, updated) },
        { name: imports.unchanged, value: numberIn(words, unchanged) },
        { name: imports.wrongLines, value: numberIn(words, failedCount) },
      ])}
    </div>
    ${
      failed.length === 0
        ? null
        : SectionOf(imports.wrongLines, [
            Table({
              caption: imports.wrongLines,
              columns: [
                { name: imports.line, isNumber: true },
                { name: words.contacts.fields.email },
                { name: imports.why },
              ],
              rows: failed.map(({ line, address = '', message }) => [
                line,
                address,
                whyOf(context, message, about),
              ]),
            }),
            failedCount > failed.length ? html`<p>${imports.more(failedCount - failed.length)}</p>` : null,
            html`<p>
              <a href="${context.path(`contacts/import/${id}/wrong-lines`)}">${imports.download(Math.min(failedCount, MOST_FAILED))}</a>
            </p>`,
          ])
    }
    ${Actions([ButtonLink(context, 'contacts', imports.toContacts)])}`;
}

/** The rows that were not imported, to be corrected and imported again. */
async function fileOfWrong(context: PageContext): Promise<StreamedAnswer> {
  const { imports, fields } = context.words.contacts;
  const { about, wrong } = await context
    .find(ImportJobs)
    .findFailed(context.organizationId, context.params.import!);
  const rows = wrong.map(({ line, address = '', message }) => [
    line,
    harmless(address),
    whyOf(context, message, about),
  ]);
  const csv = stringify([[imports.line, fields.email, imports.why], ...rows]);
  return new StreamedAnswer('text/csv; charset=utf-8', 'not-imported.csv', Readable.from([csv]));
}

/** Why the whole import failed. */
function failureIn(
  { words }: PageContext,
  { failure, code }: NonNullable<ContactImport['result']>,
): string | null {
  const { imports } = words.contacts;
  if (code === 'NOT_FOUND') return imports.goneFailure;
  return code === 'INSUFFICIENT_PERMISSIONS' ? imports.roleFailure : failure;
}

/** Why a row was not imported. Messages without a translation are shown as they are. */
function whyOf(context: PageContext, message: string, { listId }: ImportPlan): string {
  const { imports } = context.words.contacts;
  if (/^has \d+ cells?, but the header/.test(message)) return imports.overlong;
  if (/^(has a quote|has more than|is longer than|is not valid)/.test(message)) return imports.unreadable;
  if (message.startsWith('Another contact in your organization already has this'))
    return listId === null ? imports.taken : imports.takenAndListed;
  return message
    .split('; ')
    .map((issue) => issueIn(context, issue))
    .join('; ');
}

/** Translates an issue such as "email is required". */
function issueIn(context: PageContext, issue: string): string {
  const { words } = context;
  const field = MEANINGS.find((name) => issue.startsWith(`${name} `));
  if (field === undefined) return issue;
  const { subscribed } = words.contacts;
  const { tags, lists } = words.sections;
  const short = { tags, lists, subscribed };
  const name = field in short ? short[field as keyof typeof short] : nameOfField(context, field);
  return `${name}: ${faultIn(words.faults, issue.slice(field.length + 1))}`;
}
