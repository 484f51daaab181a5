import { html, type Html } from '#libs/pages';
import { invalid, RpcError, type StreamedAnswer } from '#libs/rpc';
import { faultIn } from '../faults.js';
import { csvFor } from '../csv.js';
import { type PageDefinition } from '../page.js';
import {
  ButtonLink,
  ChoiceField,
  Actions,
  ButtonOf,
  Facts,
  FileField,
  Folded,
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
import { type FieldRecord } from '../../fields/index.js';
import { customFieldsOf } from './custom-values.js';
import { isConsent, isEvidence, type Meaning, meaningsIn, UNSUBSCRIBED } from '../../contacts/index.js';
import {
  CHARSETS,
  ImportJobs,
  type ImportPlan,
  ImportProblems,
  type ImportResult,
  LARGEST_TABLE,
  type StoredImport,
} from '../../contacts/import/jobs/index.js';
import { type PetitionRecord, petitions } from '../petitions/petition.js';
import { UngroupLink } from './group-page.js';
import { isUndoing, UndoLink, UndoOf, undoPage } from './import-undo.js';
import { choicesOf, toContacts } from './contact.js';
import { type DashboardWords } from '#locales';

export const importPages: PageDefinition[] = [
  {
    path: 'contacts/import',
    needs: 'contact:write',
    takesFile: true,
    show: async (context) => {
      const { imports } = context.words.contacts;
      const { signatures } = imports;
      const petition = await signedIn(context);
      const unchanged = petition ? 'keep' : 'fail';
      const lists = context.person.may('list:write') ? await choicesOf(context, 'list.list-lists') : [];
      const fields = [
        ChoiceField(context.form, {
          name: 'onConflict',
          label: imports.conflict,
          values: [unchanged],
          choices: [
            { value: unchanged, text: petition ? signatures.keep : imports.fail },
            { value: 'update', text: imports.update },
          ],
        }),
        lists.length === 0
          ? context.person.may('list:write')
            ? html`<p class="hint">${imports.listFirst}</p>`
            : null
          : SelectField(context.form, {
              name: 'listId',
              label: imports.list,
              hint: imports.listHint,
              isOptional: true,
              choices: [{ value: '', text: imports.noList }, ...lists],
            }),
        FileField(context.form, {
          name: 'file',
          label: imports.file,
          hint: imports.fileHint,
          accept: '.csv,.tsv,.txt,text/csv,text/tab-separated-values,text/plain',
        }),
      ];
      return context.view.page({
        section: petition ? 'petitions' : 'contacts',
        back: petition ? petitions.to(context, petition) : toContacts(context),
        title: petition ? signatures.title : imports.title,
        content: html`<div class="text">
          <p class="lead">${petition ? signatures.text(petition.title) : imports.text}</p>
            ${FormOf(context.form, { fields, button: imports.look, takesFile: true })}
          </div>
          ${await StartedImports(context)}`,
      });
    },
    act: async (context) => {
      const file = await context.form.upload();
      if (!file) throw invalid([{ path: 'file', message: 'is not a file' }]);
      const petitionId = context.address.query(PETITION);
      const unchanged = petitionId === undefined ? 'fail' : 'keep';
      const chosen = {
        file: file.name.slice(-200),
        petitionId,
        onConflict: context.form.get('onConflict') === 'update' ? 'update' : unchanged,
        listId: context.person.may('list:write') ? context.form.typed('listId') : null,
      } as const;
      const id = await context.api
        .find(ImportJobs)
        .keep(userOf(context), chosen, limited(context.words, file.bytes));
      return { to: `contacts/import/${id}` };
    },
  },
  {
    path: 'contacts/import/:import',
    needs: 'contact:write',
    show: async (context) => {
      const found = await context.api
        .find(ImportJobs)
        .find(context.api.organizationId, context.address.params.import!);
      return found.status === 'KEPT'
        ? preview(context, found, await customFieldsOf(context))
        : progress(context, found);
    },
    act: async (context) => {
      const id = context.address.params.import!;
      if (context.address.query('cancel') !== undefined) {
        await context.api.find(ImportJobs).cancel(context.api.organizationId, id);
        return { to: `contacts/import/${id}` };
      }
      if (context.address.query('charset') !== undefined) {
        const charset = CHARSETS.find((one) => one === context.form.get('charset'));
        if (charset) await context.api.find(ImportJobs).readAs(context.api.organizationId, id, charset);
        return { to: `contacts/import/${id}` };
      }
      const created = await createFields(context, id);
      const customFields = await customFieldsOf(context);
      await context.api.find(ImportJobs).begin(userOf(context), id, {
        meaningOf: (column) => {
          const field = customFields.find((one) => one.id === created.get(column));
          return field ? meaningOf(field) : meaningIn(context.form.get(`column-${column}`), customFields);
        },
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
  undoPage,
];

function userOf({ person, api: { organizationId } }: PageContext) {
  return { organizationId, userId: person.session.userId };
}

/** @throws RpcError PAYLOAD_TOO_LARGE while it is read. */
async function* limited(words: DashboardWords, bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of bytes) {
    size += chunk.length;
    if (size > LARGEST_TABLE) throw new RpcError('PAYLOAD_TOO_LARGE', words.contacts.imports.tooLarge);
    yield chunk;
  }
}

/** The query parameter with the petition whose signatures are imported. */
const PETITION = 'petition';

/** The petition whose signatures are imported; undefined if only contacts are. @throws RpcError NOT_FOUND */
async function signedIn({ address, api }: PageContext): Promise<PetitionRecord | undefined> {
  const petitionId = address.query(PETITION);
  return petitionId === undefined
    ? undefined
    : api.run<PetitionRecord>('petition.get-petition', { petitionId });
}

/** The choice for a column that looks like an opt-out but is not. */
const UNRELATED = 'unrelated';

/** The choice for a column that becomes a new custom field. */
const NEW_FIELD = 'newField';

/** Creates the custom fields that were chosen. @returns their ids, by column. */
async function createFields({ api, form }: PageContext, id: string): Promise<Map<number, string>> {
  const created = new Map<number, string>();
  const { plan } = await api.find(ImportJobs).find(api.organizationId, id);
  for (const [n, name] of plan.columns.entries()) {
    if (form.get(`column-${n}`) !== NEW_FIELD) continue;
    const { fieldId } = await api.run<{ fieldId: string }>('field.create-field', { name, type: 'TEXT' });
    created.set(n, fieldId);
  }
  return created;
}

function meaningOf({ key }: FieldRecord): Meaning {
  return `customFields.${key}`;
}

/** The meaning chosen for a column; undefined if none was. */
function meaningIn(chosen: string | null, customFields: readonly FieldRecord[]): Meaning | null | undefined {
  const meanings = [...meaningsIn(true), ...customFields.map(meaningOf)];
  return chosen ? (meanings.find((meaning) => meaning === chosen) ?? null) : undefined;
}

/** Links to imports that were started, for people who have left their page. */
async function StartedImports({ words, address, api }: PageContext): Promise<Html | null> {
  const { imports } = words.contacts;
  const begun = await api.find(ImportJobs).listStarted(api.organizationId);
  if (begun.length === 0) return null;
  const rows = begun.map((one) => [
    html`<a href="${address.path(`contacts/import/${one.id}`)}">${nameOf(words, one)}</a>`,
    stateOf(words, one),
    timeIn(words, one.createdAt),
  ]);
  const columns = [{ name: imports.table }, { name: words.state }, { name: imports.when }];
  return SectionOf(imports.begun, Table({ caption: imports.begun, columns, rows }));
}

/** Imports through the API may have no name, and updates of contacts have none. */
function nameOf(words: DashboardWords, { plan }: StoredImport): string {
  if (plan.changes) return words.contacts.grouping.updating;
  return plan.file === '' ? words.contacts.imports.unnamed : plan.file;
}

function stateOf(words: DashboardWords, { status }: StoredImport): string {
  const { states } = words.contacts.imports;
  return status in states ? states[status as keyof typeof states] : states.QUEUED;
}

function nameOfField(words: DashboardWords, field: ReturnType<typeof meaningsIn>[number]): string {
  const { contacts } = words;
  if (isConsent(field)) return contacts.imports.consents[field];
  if (isEvidence(field)) return contacts.imports.evidence[field];
  const { name, tags, lists, signatures } = contacts.imports;
  const ofImports = { name, tags, lists, ...signatures.columns };
  return field in ofImports
    ? ofImports[field as keyof typeof ofImports]
    : contacts.fields[field as keyof typeof contacts.fields];
}

function preview(
  context: PageContext,
  { id, plan, lines }: StoredImport,
  customFields: readonly FieldRecord[],
) {
  const { imports } = context.words.contacts;
  const fields = meaningsIn(plan.petitionId !== undefined).filter(
    (field) =>
      (field !== 'tags' || context.person.may('tag:write')) &&
      (field !== 'lists' || context.person.may('list:write')),
  );
  const chosen = [
    ...fields.map((field) => ({ value: field as string, text: nameOfField(context.words, field) })),
    ...customFields.map((field) => ({ value: meaningOf(field), text: field.name })),
  ];
  const mayCreate = context.person.may('field:write');
  const choicesOf = (column: string, first: { value: string; text: string }[]) => [
    ...first,
    ...(mayCreate && column !== '' ? [{ value: NEW_FIELD, text: imports.newField }] : []),
    ...chosen,
  ];
  const isLeftOut = (_: string, n: number) =>
    plan.meanings[n] === null && !plan.suspects?.includes(n) && plan.examples.some((row) => row[n]?.trim());
  const leftOut = plan.columns.filter(isLeftOut);
  const columns = plan.columns.map((column, n) =>
    SelectField(context.form, {
      name: `column-${n}`,
      label: column === '' ? `${imports.column} ${n + 1}` : column,
      hint: exampleOf(context.words, plan, n),
      value: plan.meanings[n] ?? '',
      isOptional: true,
      choices: plan.suspects?.includes(n)
        ? [
            ...choicesOf(column, [{ value: '', text: imports.undecided }]),
            { value: UNRELATED, text: imports.unrelated },
          ]
        : choicesOf(column, [{ value: '', text: imports.ignored }]),
    }),
  );
  return context.view.page({
    section: sectionOf(plan),
    back: { href: context.address.path(`contacts/import${queryOf(plan)}`), text: imports.again },
    title: imports.preview,
    content: html`<p class="lead">${imports.previewText(plan.file)}</p>
      ${CharsetOf(context, id, plan)}
      ${leftOut.length > 0 ? html`<p>${imports.leftOut(new Intl.ListFormat(context.words.locale).format(leftOut))}</p>` : null}
      <div class="text">
        ${FormOf(context.form, { fields: [html`<div class="matching">${columns}</div>`, ConsentField(context, plan.file)], button: imports.start(lines) })}
      </div>`,
  });
}

/** The guessed character set with cells that show whether it is right, and a form to choose another. */
function CharsetOf(
  { words, address, form }: PageContext,
  id: string,
  { format, beyondAscii = [] }: ImportPlan,
) {
  if (!format || beyondAscii.length === 0) return null;
  const { charset } = words.contacts.imports;
  const names: { [encoding: string]: string } = charset.names;
  const choices = CHARSETS.map((value) => ({ value, text: names[value]! }));
  const field = SelectField(form, { name: 'charset', label: charset.label, value: format.encoding, choices });
  return html`<p>${charset.text(names[format.encoding]!, beyondAscii.join(' · '))}</p>
    ${Folded(charset.change, ButtonOf(address, `contacts/import/${id}?charset=true`, charset.button, true, field), false)}`;
}

/** Mailchimp exports the subscribed, non-subscribed, unsubscribed and cleaned contacts as one file each. */
const NAMED_UNSUBSCRIBED =
  /(non|un|not)[-_ ]?subscri|cleaned|bounced|opt(ed)?[-_ ]?out|abgemeldet|abbestellt/i;

/** Requires an explicit tick, so that a forgotten column never subscribes anyone. */
function ConsentField({ words, form }: PageContext, file: string): Html {
  const { consent, agreed, agreedHint, unsubscribedHint } = words.contacts.imports;
  return ChoiceField(form, {
    name: 'agreed',
    label: consent,
    hint: NAMED_UNSUBSCRIBED.test(file) ? `${unsubscribedHint} ${agreedHint}` : agreedHint,
    choices: [{ value: 'true', text: agreed }],
    isMany: true,
  });
}

function exampleOf(words: DashboardWords, { examples }: ImportPlan, n: number): string {
  const cells = examples.map((row) => row[n]?.trim() ?? '').filter((cell) => cell !== '');
  return cells.length === 0
    ? words.contacts.imports.noExample
    : `${words.contacts.imports.example}: ${cells.slice(0, 3).join(' · ')}`;
}

function progress(context: PageContext, stored: StoredImport) {
  const { words } = context;
  const { imports } = words.contacts;
  const { id, status, lines, linesDone, bytes, bytesDone, plan, result } = stored;
  const title = titleOf(words, plan);
  const isImporting = status === 'RUNNING' || status === 'QUEUED';
  const isGoing = isImporting || isUndoing(stored);
  const state = plan.changes ? stateOf(words, stored) : headingOf(words, stored, isImporting);
  // The rows of a file that no one reviewed were not counted.
  const [done, all] = lines > 0 ? [linesDone, lines] : [Math.min(bytesDone, bytes), bytes];
  return context.view.page({
    section: sectionOf(plan),
    back: backFrom(context, plan),
    // The title of a background tab shows when the import has finished.
    title: isGoing ? title : statusOf(words, stored, state),
    heading: title,
    content: html`<p class="lead">${nameOf(context.words, stored)}</p>
      <h2>${state}</h2>
      ${isImporting ? html`<p>${plan.changes ? words.contacts.grouping.goingText : imports.goingText}</p>` : null}
      ${Live(context, { isGoing, status: isImporting ? inQuarters(state, done, all) : statusOf(words, stored, state) })}
      ${Progress({ words, label: lines > 0 ? imports.lines : imports.bytes, value: isImporting ? done : all, max: all })}
      ${isImporting ? ButtonOf(context.address, `contacts/import/${id}?cancel=true`, imports.cancel) : null}
      ${isImporting ? null : UndoOf(context, stored)}
      ${result && !isImporting ? ResultOf(context, stored, result) : null}`,
  });
}

function headingOf({ contacts: { imports } }: DashboardWords, { status }: StoredImport, isGoing: boolean) {
  if (isGoing) return imports.going;
  const ended = { DONE: imports.done, CANCELLED: imports.states.CANCELLED };
  return ended[status as keyof typeof ended] ?? imports.failed;
}

function titleOf({ contacts: { grouping, imports } }: DashboardWords, plan: ImportPlan): string {
  if (plan.changes) return grouping.updating;
  return plan.petitionId === undefined ? imports.title : imports.signatures.title;
}

function queryOf({ petitionId }: ImportPlan): string {
  return petitionId === undefined ? '' : `?${PETITION}=${petitionId}`;
}

function sectionOf({ petitionId }: ImportPlan) {
  return petitionId === undefined ? 'contacts' : 'petitions';
}

/** Where an import leads: to the signatures, or to the contacts. */
function backFrom(context: PageContext, { petitionId }: ImportPlan) {
  if (petitionId === undefined) return toContacts(context);
  const href = context.address.path(`petitions/${petitionId}/signatures`);
  return { href, text: context.words.petitions.signers.title };
}

/** The state of the undo if there is one, otherwise that of the import. */
function statusOf(words: DashboardWords, { undo }: StoredImport, state: string): string {
  return undo ? words.contacts.imports.undo.states[undo.status] : state;
}

function ResultOf(context: PageContext, stored: StoredImport, result: ImportResult): Html {
  const { id, plan, status } = stored;
  const { words } = context;
  const { imports } = words.contacts;
  const { answer } = result;
  const failure =
    status === 'FAILED'
      ? html`<div class="faults" role="alert"><p>${failureIn(context.words, result)}</p><p>${imports.failedText}</p></div>`
      : null;
  if (answer === null) return failure ?? html``;
  const { created, updated, unchanged, signed = 0, failed, failedCount } = answer;
  const isSigned = plan.petitionId !== undefined;
  return html`${failure}<div role="status">
      ${Facts([
        ...(isSigned ? [{ name: imports.signatures.added, value: numberIn(words, signed) }] : []),
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
                whyOf(context.words, message, plan),
              ]),
            }),
            failedCount > failed.length ? html`<p>${imports.more(failedCount - failed.length)}</p>` : null,
            html`<p>
              <a href="${context.address.path(`contacts/import/${id}/wrong-lines`)}">${imports.download(failedCount)}</a>
            </p>`,
          ])
    }
    ${Actions([
      isSigned
        ? ButtonLink(context.address, `petitions/${plan.petitionId!}/signatures`, imports.signatures.view)
        : ButtonLink(context.address, 'contacts', imports.toContacts),
      plan.changes ? (stored.isRecent ? UngroupLink(context, id) : null) : UndoLink(context, stored),
    ])}`;
}

/** The rows that were not imported, to be corrected and imported again. */
async function fileOfWrong({ words, address, api }: PageContext): Promise<StreamedAnswer> {
  const { organizationId } = api;
  const id = address.params.import!;
  const { plan } = await api.find(ImportJobs).find(organizationId, id);
  return api.find(ImportProblems).file(organizationId, id, {
    column: words.contacts.imports.why,
    reasonOf: (message) => whyOf(words, message, plan),
    write: csvFor(words),
  });
}

/** Why the whole import failed. */
function failureIn(words: DashboardWords, { failure, code }: ImportResult): string | null {
  const { imports } = words.contacts;
  if (code === 'NOT_FOUND' || code === 'UNAUTHORIZED') return imports.goneFailure;
  return code === 'INSUFFICIENT_PERMISSIONS' ? imports.roleFailure : failure;
}

/** Why a row was not imported. Messages without a translation are shown as they are. */
function whyOf(words: DashboardWords, message: string, { listId }: ImportPlan): string {
  const { imports } = words.contacts;
  if (/^has \d+ cells?, but the header/.test(message)) return imports.overlong;
  if (/^(has a quote|has more than|is longer than|is not valid)/.test(message)) return imports.unreadable;
  if (message.includes(UNSUBSCRIBED)) return imports.takenAndRefused;
  if (message.startsWith('Another contact in your organization already has this'))
    return listId === null ? imports.taken : imports.takenAndListed;
  return message
    .split('; ')
    .map((issue) => issueIn(words, issue))
    .join('; ');
}

/** Translates an issue such as "email is required". */
function issueIn(words: DashboardWords, issue: string): string {
  const field = meaningsIn(true).find((name) => issue.startsWith(`${name} `));
  if (field === undefined) return issue;
  const { subscribed } = words.contacts;
  const { tags, lists } = words.sections;
  const short = { tags, lists, subscribed };
  const name = field in short ? short[field as keyof typeof short] : nameOfField(words, field);
  return `${name}: ${faultIn(words.faults, issue.slice(field.length + 1))}`;
}
