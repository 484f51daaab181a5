import { Injectable } from '@nestjs/common';
import { Requests } from '#libs/commands';
import { Resources } from '#libs/resources';
import {
  Flag,
  Id,
  invalid,
  OneOf,
  OperationRunner,
  type RequestContext,
  requireScope,
  RpcError,
  StreamedInput,
  Text,
} from '#libs/rpc';
import { CreateField, CustomFields, type FieldDefinition, MAX_FIELDS } from '../../../fields/index.js';
import { type ColumnMap, MAP_FIELD, readMap } from '../column-map.js';
import { customMeaning } from '../columns.js';
import { targetsOf } from '../import-contacts.js';
import {
  decideColumns,
  type DecidedColumns,
  NDJSON,
  type Reading,
  requireDecided,
} from '../imported-contacts.js';
import { ImportedSignatures } from '../imported-signatures.js';
import { FormatDetector } from '../table.js';
import { ImportJobs } from './import-jobs.js';
import { type ImportPlan, scopesFor } from './import-plan.js';

export const CHARSETS = [
  'utf-8',
  'utf-16le',
  'utf-16be',
  'windows-1252',
  'windows-1250',
  'iso-8859-1',
  'iso-8859-2',
  'iso-8859-15',
] as const;
const DELIMITERS = { comma: ',', semicolon: ';', tab: '\t', pipe: '|' };
type DecidedTable = Awaited<ReturnType<typeof decideColumns>>;
export const IMPORTED_TYPES = ['text/csv', 'text/tab-separated-values', NDJSON];

export abstract class ImportedFile extends StreamedInput {
  @Text({ max: 200, optional: true, description: 'A name for this import, such as that of the file.' })
  name?: string;

  @Text(MAP_FIELD)
  map?: string;

  @Flag({
    optional: true,
    description:
      'Whether contacts are subscribed if their row does not state it. Required unless a column states it. ' +
      'Existing contacts keep their setting.',
  })
  subscribed?: boolean;

  @Id({ optional: true, description: 'A list to which all contacts in the file are added.' })
  listId?: string;

  @OneOf(['refuse', 'ignore', 'field'], {
    default: 'refuse',
    description:
      'Whether a table with unrecognized columns is rejected, imported without them, or imported with a new custom ' +
      'field of the type TEXT for each. The latter requires the scope `field:write`.',
  })
  unknown!: 'refuse' | 'ignore' | 'field';

  @OneOf(CHARSETS, { optional: true, description: 'The character set of a table. Default: detected.' })
  charset?: (typeof CHARSETS)[number];

  @OneOf(Object.keys(DELIMITERS), { optional: true, description: 'Default: detected.' })
  delimiter?: keyof typeof DELIMITERS;

  @Flag({
    default: false,
    description:
      'Only checks the file: the import reports what would happen to each row, and stores nothing. Rows are ' +
      'compared with stored contacts, not with each other.',
  })
  dryRun!: boolean;
}

/** `onConflict` and `petitionId` as in the plan. */
type FileToImport = ImportedFile & Pick<ImportPlan, 'onConflict' | 'petitionId'>;

@Injectable()
export class StartImport {
  constructor(
    private readonly jobs: ImportJobs,
    private readonly requests: Requests,
    private readonly resources: Resources,
    private readonly fields: CustomFields,
    private readonly runner: OperationRunner,
    private readonly signatures: ImportedSignatures,
  ) {}

  /** @throws RpcError as the operations of imports do. */
  start(command: FileToImport): Promise<{ importId: string }> {
    return this.requests.runStreamed(command, (bytes) => this.store(command, bytes));
  }

  private async store(
    command: FileToImport,
    bytes: AsyncIterable<Uint8Array>,
  ): Promise<{ importId: string }> {
    const { context, organizationId } = command;
    if (command.unknown === 'field') requireScope(context.scopes, 'field:write', 'unknown');
    const fields = await this.fields.definitions(organizationId);
    const hasSignatures = command.petitionId !== undefined;
    const map = readMap(command.map, command.mediaType !== NDJSON, fields, hasSignatures);
    if (hasSignatures) await this.signatures.require(organizationId, command.petitionId!);
    for (const { resource, id } of targetsOf(command))
      await this.resources.require(resource, organizationId, id);
    const { charset, delimiter } = command;
    const known = { charset, delimiter: delimiter && DELIMITERS[delimiter] };
    const detector = new FormatDetector();
    const plan = () => planOf(command, map, detector, known, fields);
    let isChecked = false;
    const see = async (chunk: Uint8Array) => {
      detector.see(chunk);
      // A wrong header is reported before the rest has arrived.
      if (isChecked || !detector.hasHead) return;
      isChecked = true;
      await plan();
    };
    const importId = await this.jobs.upload(
      { organizationId, actor: context.actor },
      bytes,
      see,
      async (stored, size) => {
        const { unrecognized, ...planned } = await plan();
        // For bytes that arrived before the key was revoked.
        await context.requireAccess?.();
        if (command.unknown === 'field' && !command.dryRun)
          await this.createFields(context, planned, unrecognized, fields.length);
        await this.jobs.queue(stored, planned, size);
        return stored.id;
      },
    );
    return { importId };
  }

  /** Creates a custom field for each of these columns of the plan. */
  private async createFields(
    context: RequestContext,
    plan: ImportPlan,
    columns: readonly number[],
    existing: number,
  ): Promise<void> {
    const refuse = (message: string) => invalid([{ path: 'unknown', message }]);
    if (existing + columns.length > MAX_FIELDS) {
      throw refuse(
        `would create ${columns.length} custom fields, and you can have ${MAX_FIELDS}: map columns that you do not need to ignore`,
      );
    }
    const { idempotencyKey: _key, onReplay: _replay, ...own } = context;
    for (const n of columns) {
      const name = plan.columns[n]!;
      const { fieldId } = await this.runner
        .run<{ fieldId: string }>(CreateField, { name, type: 'TEXT' }, own)
        .catch((error: unknown) => {
          if (!(error instanceof RpcError) || error.status >= 500) throw error;
          throw refuse(`cannot create a custom field for ${name.slice(0, 100)}: ${error.message}`);
        });
      const created = (await this.fields.definitions(context.organizationId)).find(
        ({ id }) => id === fieldId,
      );
      if (created) plan.meanings[n] = customMeaning(created.key);
    }
  }
}

/** @throws RpcError BAD_REQUEST or INSUFFICIENT_PERMISSIONS as `decideColumns` */
async function planOf(
  {
    context,
    mediaType,
    subscribed,
    unknown,
    onConflict,
    dryRun,
    name = '',
    listId,
    petitionId,
  }: FileToImport,
  map: ColumnMap,
  detector: FormatDetector,
  known: Parameters<FormatDetector['format']>[0],
  fields: readonly FieldDefinition[],
): Promise<ImportPlan & { unrecognized: readonly number[] }> {
  const { head } = detector;
  const reading: Reading = {
    mediaType,
    context,
    subscribed,
    fields,
    map,
    hasSignatures: petitionId !== undefined,
    unknown: unknown === 'field' ? 'ignore' : unknown,
  };
  const first = { head, isWhole: !detector.hasHead };
  let decided: Partial<DecidedColumns> & Pick<DecidedTable, 'columns' | 'examples' | 'unrecognized'> = {
    columns: [],
    examples: [],
    unrecognized: [],
  };
  if (mediaType === NDJSON) await requireDecided(first, reading);
  else decided = await decideColumns(first, detector.format(known), reading);
  const { columns, examples, meanings = [], suspects = [], format, unrecognized } = decided;
  const plan: ImportPlan = {
    file: name,
    columns,
    examples,
    meanings: [...meanings],
    suspects: [...suspects],
    ...(format && { format }),
    onConflict,
    listId: listId ?? null,
    ...(petitionId !== undefined && { petitionId }),
    ...(subscribed !== undefined && { agreed: subscribed }),
    mediaType,
    isDryRun: dryRun,
    checksSuspects: true,
    isCompressed: true,
  };
  const scopes = scopesFor(plan, context.scopes);
  for (const scope of scopes) requireScope(context.scopes, scope);
  return { ...plan, scopes, unrecognized };
}
