import { html, type Html } from '#libs/pages';
import { invalid, RpcError } from '#libs/rpc';
import { type PageDefinition } from '../page.js';
import {
  ButtonLink,
  ChoiceField,
  Deeds,
  Facts,
  FileField,
  FormOf,
  Live,
  numberIn,
  Progress,
  SectionOf,
  SelectField,
  Table,
} from '../parts.js';
import { type Visit } from '../visit.js';
import { type AboutImport, type ContactImport, Imports, LARGEST_TABLE } from './imports.js';
import { choicesOf, toContacts } from './pages.js';
import { IMPORTED, type Imported, meaningOf, rowsOf, textOf } from './table.js';

/** Rows of the preview. */
const EXAMPLES = 5;
const LONGEST_EXAMPLE = 100;
/** More than somebody would look through. */
const MOST_COLUMNS = 200;
const TOO_WIDE = 'has more than 200 columns';

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
        </div>`,
      });
    },
    act: async (visit) => {
      const file = await visit.upload();
      if (!file) throw invalid([{ path: 'file', message: 'is required' }]);
      const bytes = await wholeOf(visit, file.bytes);
      const { columns, examples, lines } = await lookedAt(bytes);
      const about: AboutImport = {
        file: file.name.slice(-200),
        columns,
        examples,
        meanings: guessed(columns),
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
        return IMPORTED.find((field) => field === chosen) ?? null;
      });
      requireSense(meanings);
      const userId = visit.person.session.userId;
      await visit.find(Imports).begin(visit.organizationId, id, userId, { ...about, meanings });
      return { to: `contacts/import/${id}` };
    },
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

/** @throws RpcError BAD_REQUEST where it is no table with a line under its header. */
async function lookedAt(bytes: Buffer): Promise<{ columns: string[]; examples: string[][]; lines: number }> {
  const text = textOf(bytes);
  let columns: string[] | undefined;
  const examples: string[][] = [];
  let lines = 0;
  try {
    if (text.includes('\0')) throw new Error('That is no text.');
    for await (const row of rowsOf(text)) {
      if (!columns) {
        columns = row.map((name) => name.trim().slice(0, LONGEST_EXAMPLE));
        if (columns.length > MOST_COLUMNS) throw invalid([{ path: 'file', message: TOO_WIDE }]);
        continue;
      }
      lines += 1;
      if (examples.length < EXAMPLES)
        examples.push(row.slice(0, columns.length).map((cell) => cell.slice(0, LONGEST_EXAMPLE)));
    }
  } catch (error) {
    if (error instanceof RpcError) throw error;
    throw invalid([{ path: 'file', message: 'is no table that can be read' }]);
  }
  if (!columns || lines === 0) throw invalid([{ path: 'file', message: 'has no line under its header' }]);
  return { columns, examples, lines };
}

/** By the names of the columns; of two that mean the same the first. */
function guessed(columns: readonly string[]): (Imported | null)[] {
  const taken = new Set<Imported>();
  return columns.map((column) => {
    const meaning = meaningOf(column);
    if (meaning === undefined || taken.has(meaning)) return null;
    taken.add(meaning);
    return meaning;
  });
}

/** @throws RpcError BAD_REQUEST where no column has addresses, or two say the same. */
function requireSense(meanings: readonly (Imported | null)[]): void {
  const issues = meanings.flatMap((meaning, n) =>
    meaning !== null && meanings.indexOf(meaning) < n
      ? [{ path: `column-${n}`, message: 'is what another column is already' }]
      : [],
  );
  if (issues.length > 0) throw invalid(issues);
  if (!meanings.includes('email'))
    throw invalid([{ path: 'column-0', message: 'or another column must be the address' }]);
}

function nameOfField({ words }: Visit, field: Imported): string {
  const { contacts } = words;
  if (field === 'subscribed') return contacts.subscribed;
  return field === 'tags' ? contacts.imports.tags : contacts.fields[field];
}

function preview(visit: Visit, { about, lines }: ContactImport) {
  const { imports } = visit.words.contacts;
  const fields = IMPORTED.filter((field) => field !== 'tags' || visit.may('tag:write'));
  const choices = [
    { value: '', text: imports.ignored },
    ...fields.map((field) => ({ value: field, text: nameOfField(visit, field) })),
  ];
  const columns = about.columns.map((column, n) =>
    SelectField(visit, {
      name: `column-${n}`,
      label: column === '' ? `${imports.column} ${n + 1}` : column,
      hint: exampleOf(visit, about, n),
      value: about.meanings[n] ?? '',
      isOptional: true,
      choices,
    }),
  );
  return visit.page({
    section: 'contacts',
    back: { href: visit.path('contacts/import'), text: imports.again },
    title: imports.preview,
    content: html`<p class="lead">${imports.previewText(about.file)}</p>
      <div class="text">${FormOf(visit, { fields: columns, button: imports.start(lines) })}</div>`,
  });
}

function exampleOf({ words }: Visit, { examples }: AboutImport, n: number): string {
  const cells = examples.map((row) => row[n]?.trim() ?? '').filter((cell) => cell !== '');
  return cells.length === 0
    ? words.contacts.imports.noExample
    : `${words.contacts.imports.example}: ${cells.slice(0, 3).join(' · ')}`;
}

function progress(visit: Visit, { status, lines, linesDone, result, about }: ContactImport) {
  const { words } = visit;
  const { imports } = words.contacts;
  const isGoing = status === 'RUNNING';
  return visit.page({
    section: 'contacts',
    back: toContacts(visit),
    title: imports.title,
    content: html`<p class="lead">${about.file}</p>
      ${Live(visit, {
        id: 'progress',
        isGoing,
        content: html`<h2>${isGoing ? imports.going : status === 'DONE' ? imports.done : imports.failed}</h2>
          ${isGoing ? html`<p>${imports.goingText}</p>` : null}
          ${Progress({ words, label: imports.lines, value: isGoing ? linesDone : lines, max: lines })}
          ${result ? ResultOf(visit, result) : null}`,
      })}`,
  });
}

function ResultOf(visit: Visit, { answer, failure }: NonNullable<ContactImport['result']>): Html {
  const { words } = visit;
  const { imports } = words.contacts;
  if (answer === null)
    return html`<div class="faults" role="alert"><p>${failure}</p><p>${imports.failedText}</p></div>`;
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
              columns: [{ name: imports.line, isNumber: true }, { name: imports.why }],
              rows: failed.map(({ line, message }) => [line, message]),
            }),
            failedCount > failed.length ? html`<p>${imports.more(failedCount - failed.length)}</p>` : null,
          ])
    }
    ${Deeds([ButtonLink(visit, 'contacts', imports.toContacts)])}`;
}
