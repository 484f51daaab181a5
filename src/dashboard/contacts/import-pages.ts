import { stringify } from 'csv-stringify/sync';
import { Readable } from 'node:stream';
import { html, type Html } from '#libs/pages';
import { invalid, RpcError, StreamedAnswer } from '#libs/rpc';
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
import { type Visit } from '../visit.js';
import {
  isConsent,
  isEvidence,
  isOfOneColumn,
  lookAt,
  type Meaning,
  MEANINGS,
  recognise,
  suggestsOptOut,
} from '../../contacts/index.js';
import { type AboutImport, type ContactImport, Imports, LARGEST_TABLE, MOST_TOLD } from './imports.js';
import { choicesOf, toContacts } from './pages.js';

export const importPages: PageDefinition[] = [
  {
    path: 'contacts/import',
    needs: 'contact:write',
    takesFile: true,
    show: async (visit) => {
      const { imports } = visit.words.contacts;
      const lists = visit.may('list:write') ? await choicesOf(visit, 'list.list-lists') : [];
      const fields = [
        ChoiceField(visit, {
          name: 'onConflict',
          label: imports.conflict,
          values: ['fail'],
          choices: [
            { value: 'fail', text: imports.fail },
            { value: 'update', text: imports.update },
          ],
        }),
        lists.length === 0
          ? null
          : SelectField(visit, {
              name: 'listId',
              label: imports.list,
              isOptional: true,
              choices: [{ value: '', text: imports.noList }, ...lists],
            }),
        FileField(visit, {
          name: 'file',
          label: imports.file,
          hint: imports.fileHint,
          accept: '.csv,text/csv,text/plain',
        }),
      ];
      return visit.page({
        section: 'contacts',
        back: toContacts(visit),
        title: imports.title,
        content: html`<div class="text">
          <p class="lead">${imports.text}</p>
            ${FormOf(visit, { fields, button: imports.look, takesFile: true })}
          </div>
          ${await BegunImports(visit)}`,
      });
    },
    act: async (visit) => {
      const file = await visit.upload();
      if (!file) throw invalid([{ path: 'file', message: 'is no file' }]);
      const bytes = await wholeOf(visit, file.bytes);
      const { columns, examples, lines, format, values } = await lookAt(bytes);
      const meanings = recognise(columns, values);
      const about: AboutImport = {
        file: file.name.slice(-200),
        columns,
        examples,
        format,
        meanings,
        suspects: columns.flatMap((column, n) =>
          isConsent(meanings[n]!) || suggestsOptOut(column, values[n] ?? []) ? [n] : [],
        ),
        onConflict: visit.form.get('onConflict') === 'update' ? 'update' : 'fail',
        listId: visit.may('list:write') ? visit.typed('listId') : null,
      };
      const whose = { organizationId: visit.organizationId, userId: visit.person.session.userId };
      const id = await visit.find(Imports).keep(whose, bytes, about, lines);
      return { to: `contacts/import/${id}` };
    },
  },
  {
    path: 'contacts/import/:import',
    needs: 'contact:write',
    show: async (visit) => {
      const found = await visit.find(Imports).find(visit.organizationId, visit.params.import!);
      return found.status === 'KEPT' ? preview(visit, found) : progress(visit, found);
    },
    act: async (visit) => {
      const { about, id } = await visit.find(Imports).find(visit.organizationId, visit.params.import!);
      const meanings = about.columns.map((_, n) => {
        const chosen = visit.form.get(`column-${n}`);
        return MEANINGS.find((meaning) => meaning === chosen) ?? null;
      });
      const agreed = visit.form.has('agreed');
      requireSense(meanings);
      requireAnswers(visit, about);
      const userId = visit.person.session.userId;
      await visit.find(Imports).begin(visit.organizationId, id, userId, { ...about, meanings, agreed });
      return { to: `contacts/import/${id}` };
    },
  },
  {
    path: 'contacts/import/:import/wrong-lines',
    needs: 'contact:write',
    show: fileOfWrong,
  },
];

async function wholeOf(visit: Visit, bytes: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of bytes) {
    size += chunk.length;
    if (size > LARGEST_TABLE) throw new RpcError('PAYLOAD_TOO_LARGE', visit.words.contacts.imports.tooLarge);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** @throws RpcError BAD_REQUEST if no column has addresses, or two columns have the same meaning. */
function requireSense(meanings: readonly (Meaning | null)[]): void {
  const issues = meanings.flatMap((meaning, n) =>
    isOfOneColumn(meaning) && meanings.indexOf(meaning) < n
      ? [{ path: `column-${n}`, message: 'is what another column is already' }]
      : [],
  );
  if (issues.length > 0) throw invalid(issues);
  if (!meanings.includes('email'))
    throw invalid([{ path: 'column-0', message: 'or another column must be the address' }]);
}

/** The choice for a column that looks like an opt-out but is not. */
const UNRELATED = 'unrelated';

/** @throws RpcError BAD_REQUEST if a column that may state opt-outs is ignored without an answer. */
function requireAnswers(visit: Visit, { suspects = [] }: AboutImport): void {
  const issues = suspects
    .filter((n) => (visit.form.get(`column-${n}`) ?? '') === '')
    .map((n) => ({ path: `column-${n}`, message: 'may state who gets no email' }));
  if (issues.length > 0) throw invalid(issues);
}

/** Leads back to imports whose page was left. */
async function BegunImports(visit: Visit): Promise<Html | null> {
  const { words } = visit;
  const { imports } = words.contacts;
  const begun = await visit.find(Imports).listBegun(visit.organizationId);
  if (begun.length === 0) return null;
  const rows = begun.map(({ id, file, status, madeAt }) => [
    html`<a href="${visit.path(`contacts/import/${id}`)}">${file}</a>`,
    imports.states[status],
    timeIn(words, madeAt),
  ]);
  const columns = [{ name: imports.table }, { name: words.state }, { name: imports.when }];
  return SectionOf(imports.begun, Table({ caption: imports.begun, columns, rows }));
}

function nameOfField({ words }: Visit, field: Meaning): string {
  const { contacts } = words;
  if (isConsent(field)) return contacts.imports.consents[field];
  if (isEvidence(field)) return contacts.imports.evidence[field];
  return field === 'tags' ? contacts.imports.tags : contacts.fields[field];
}

function preview(visit: Visit, { about, lines }: ContactImport) {
  const { imports } = visit.words.contacts;
  const fields = MEANINGS.filter((field) => field !== 'tags' || visit.may('tag:write'));
  const chosen = fields.map((field) => ({ value: field, text: nameOfField(visit, field) }));
  const choices = [{ value: '', text: imports.ignored }, ...chosen];
  const choicesOfSuspect = [
    { value: '', text: imports.undecided },
    ...chosen,
    { value: UNRELATED, text: imports.unrelated },
  ];
  const columns = about.columns.map((column, n) =>
    SelectField(visit, {
      name: `column-${n}`,
      label: column === '' ? `${imports.column} ${n + 1}` : column,
      hint: exampleOf(visit, about, n),
      value: about.meanings[n] ?? '',
      isOptional: true,
      choices: about.suspects?.includes(n) ? choicesOfSuspect : choices,
    }),
  );
  return visit.page({
    section: 'contacts',
    back: { href: visit.path('contacts/import'), text: imports.again },
    title: imports.preview,
    content: html`<p class="lead">${imports.previewText(about.file)}</p>
      <div class="text">
        ${FormOf(visit, { fields: [...columns, ConsentField(visit)], button: imports.start(lines) })}
      </div>`,
  });
}

/** An explicit tick: a forgotten column never subscribes anyone. */
function ConsentField(visit: Visit): Html {
  const { consent, agreed, agreedHint } = visit.words.contacts.imports;
  return ChoiceField(visit, {
    name: 'agreed',
    label: consent,
    hint: agreedHint,
    choices: [{ value: 'true', text: agreed }],
    isMany: true,
  });
}

function exampleOf({ words }: Visit, { examples }: AboutImport, n: number): string {
  const cells = examples.map((row) => row[n]?.trim() ?? '').filter((cell) => cell !== '');
  return cells.length === 0
    ? words.contacts.imports.noExample
    : `${words.contacts.imports.example}: ${cells.slice(0, 3).join(' · ')}`;
}

function progress(visit: Visit, { id, status, lines, linesDone, result, about }: ContactImport) {
  const { words } = visit;
  const { imports } = words.contacts;
  const isGoing = status === 'RUNNING';
  const state = isGoing ? imports.going : status === 'DONE' ? imports.done : imports.failed;
  return visit.page({
    section: 'contacts',
    back: toContacts(visit),
    // The title of a background tab shows when the import has finished.
    title: isGoing ? imports.title : state,
    heading: imports.title,
    content: html`<p class="lead">${about.file}</p>
      <h2>${state}</h2>
      ${isGoing ? html`<p>${imports.goingText}</p>` : null}
      ${Live(visit, { isGoing, says: isGoing ? inQuarters(state, linesDone, lines) : state })}
      ${Progress({ words, label: imports.lines, value: isGoing ? linesDone : lines, max: lines })}
      ${result ? ResultOf(visit, { id, about }, result) : null}`,
  });
}

function ResultOf(
  visit: Visit,
  { id, about }: Pick<ContactImport, 'id' | 'about'>,
  result: NonNullable<ContactImport['result']>,
): Html {
  const { words } = visit;
  const { imports } = words.contacts;
  const { answer } = result;
  if (answer === null)
    return html`<div class="faults" role="alert"><p>${failureIn(visit, result)}</p><p>${imports.failedText}</p></div>`;
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
                whyOf(visit, message, about),
              ]),
            }),
            failedCount > failed.length ? html`<p>${imports.more(failedCount - failed.length)}</p>` : null,
            html`<p>
              <a href="${visit.path(`contacts/import/${id}/wrong-lines`)}">${imports.download(Math.min(failedCount, MOST_TOLD))}</a>
            </p>`,
          ])
    }
    ${Actions([ButtonLink(visit, 'contacts', imports.toContacts)])}`;
}

/** The rows that were not imported, to be corrected and imported again. */
async function fileOfWrong(visit: Visit): Promise<StreamedAnswer> {
  const { imports, fields } = visit.words.contacts;
  const { about, wrong } = await visit.find(Imports).findWrong(visit.organizationId, visit.params.import!);
  const rows = wrong.map(({ line, address = '', message }) => [
    line,
    harmless(address),
    whyOf(visit, message, about),
  ]);
  const csv = stringify([[imports.line, fields.email, imports.why], ...rows]);
  return new StreamedAnswer('text/csv; charset=utf-8', 'not-imported.csv', Readable.from([csv]));
}

/** Why the whole import failed. */
function failureIn({ words }: Visit, { failure, code }: NonNullable<ContactImport['result']>): string | null {
  const { imports } = words.contacts;
  if (code === 'NOT_FOUND') return imports.goneFailure;
  return code === 'INSUFFICIENT_PERMISSIONS' ? imports.roleFailure : failure;
}

/** Why a row was not imported. Messages without a translation are shown as they are. */
function whyOf(visit: Visit, message: string, { listId }: AboutImport): string {
  const { imports } = visit.words.contacts;
  if (/^has \d+ cells?, but the header/.test(message)) return imports.overlong;
  if (/^(has a quote|has more than|is longer than|is not valid)/.test(message)) return imports.unreadable;
  if (message.startsWith('Another contact in your organization already has this'))
    return listId === null ? imports.taken : imports.takenAndListed;
  return message
    .split('; ')
    .map((issue) => issueIn(visit, issue))
    .join('; ');
}

/** Translates an issue such as "email is required". */
function issueIn(visit: Visit, issue: string): string {
  const { words } = visit;
  const field = MEANINGS.find((name) => issue.startsWith(`${name} `));
  if (field === undefined) return issue;
  const { subscribed } = words.contacts;
  const short = { tags: words.sections.tags, subscribed };
  const name = field in short ? short[field as keyof typeof short] : nameOfField(visit, field);
  return `${name}: ${words.faultOf(issue.slice(field.length + 1))}`;
}
