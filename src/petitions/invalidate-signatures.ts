import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands, type Decision, RecordReader, writeTo } from '#libs/commands';
import { EventStore, type StreamWrite } from '#libs/event-store';
import { Projections } from '#libs/projections';
import { newId } from '#libs/random';
import {
  Flag,
  Ids,
  invalid,
  isId,
  OneOf,
  Operation,
  RecordInput,
  recordSchema,
  RpcError,
  Text,
  textOrNull,
  Timestamp,
} from '#libs/rpc';
import { type Choice, ChosenSignatures, MAX_NAMED, PAGE } from './chosen-signatures.js';
import { networksIn } from './client-networks.js';
import {
  type InvalidationPlanEvent,
  invalidationPlan,
  invalidationPlanId,
  needsPlan,
  type PlannedCondition,
} from './invalidation-plan.js';
import { invalidation, type InvalidationCondition, existingInvalidation } from './invalidation.js';
import { SUSPICIONS, type Suspicion } from '../confirmations/index.js';
import { petition, existingPetition } from './petition.js';

export type InvalidateAnswer = { invalidationId: string | null; petitionId: string; signatures: number };

@Operation({
  name: 'petition.invalidate-signatures',
  object: 'invalidation',
  summary: 'Invalidate signatures',
  description:
    'Excludes signatures from the count: either those you name (`signatureIds`), or all existing ones that ' +
    'match every given condition. They stay in the history, and their signers cannot sign again. To count ' +
    'them again, use `petition.restore-signatures`. The first 200 are excluded before the response is ' +
    'sent, the rest within seconds. Other people can keep signing during that time. ' +
    '`petition.get-invalidation` returns the progress.',
  answers: recordSchema({
    invalidationId: { ...textOrNull, description: 'null with `dryRun`, and if no signature matches.' },
    petitionId: { type: 'string' },
    signatures: { type: 'integer', description: 'Number of matching signatures.' },
  }),
})
export class InvalidateSignatures extends RecordInput('petitionId') {
  @Ids({ max: MAX_NAMED, optional: true, description: 'Send either these or conditions.' })
  signatureIds?: string[];

  @Timestamp({ optional: true, description: 'Signatures created after this time.' })
  createdAfter?: string;

  @Timestamp({ optional: true, description: 'Signatures created before this time.' })
  createdBefore?: string;

  @Text({
    max: 253,
    optional: true,
    example: 'mail.example',
    description: 'Signatures of contacts with an email address in this domain, for example `mail.example`.',
  })
  emailDomain?: string;

  @Flag({ optional: true, description: 'Changes nothing and returns the number of matching signatures.' })
  dryRun?: boolean;

  @Text({
    max: 100,
    optional: true,
    example: '192.0.2.0/24',
    description: "Signatures from the petition's page that came from this IP address or range (CIDR).",
  })
  clientAddress?: string;

  @OneOf(SUSPICIONS, {
    optional: true,
    description: "Signatures from the petition's page that are suspicious for this reason.",
  })
  suspicion?: Suspicion;
}

@CommandHandler(InvalidateSignatures)
export class InvalidateSignaturesHandler implements ICommandHandler<InvalidateSignatures> {
  constructor(
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly chosen: ChosenSignatures,
    private readonly store: EventStore,
    private readonly projections: Projections,
  ) {}

  async execute(command: InvalidateSignatures): Promise<InvalidateAnswer> {
    const { organizationId, petitionId } = command;
    const condition = conditionOf(command);
    this.requireRange(condition);
    if (command.dryRun) {
      const { state } = await this.records.load(petition, organizationId, petitionId);
      existingPetition(state);
      const choice = await this.choose(command, condition);
      const signatures = await this.chosen.count(organizationId, choice);
      return { invalidationId: null, petitionId, signatures };
    }
    const { recordId } = await this.commands.run(command, () => this.decide(command, condition));
    if (recordId === petitionId) return { invalidationId: null, petitionId, signatures: 0 };
    const { state } = await this.records.look(invalidation, organizationId, recordId, { version: 1 });
    return { invalidationId: recordId, petitionId, signatures: existingInvalidation(state).matched };
  }

  private async decide(command: InvalidateSignatures, condition: PlannedCondition | null): Promise<Decision> {
    const { organizationId, petitionId } = command;
    const { state, version } = await this.records.load(petition, organizationId, petitionId);
    existingPetition(state);
    const guards = [{ streamId: petitionId, version }];
    const choice = await this.choose(command, condition);
    const signatureIds = await this.chosen.page(organizationId, choice, null);
    if (signatureIds.length === 0) return { recordId: petitionId, guards, writes: [] };

    const isLast = condition === null || signatureIds.length < PAGE;
    const matched = isLast ? signatureIds.length : await this.chosen.count(organizationId, choice);
    const recordId = newId();
    const { upTo } = choice;
    const planned = condition !== null && needsPlan(condition) ? condition : null;
    const data = {
      petitionId,
      signatureIds,
      isLast: isLast || planned !== null,
      condition: condition && !planned ? withoutPlanned(condition) : null,
      upTo,
      matched,
    };
    const writes: StreamWrite[] = [
      writeTo(invalidation, recordId, 0, [{ type: 'SignaturesInvalidated', data }]),
    ];
    if (planned) {
      const plan = { petitionId, condition: planned, upTo, matched, invalidationId: recordId };
      const events: InvalidationPlanEvent[] = [{ type: 'InvalidationPlanned', data: plan }];
      if (isLast) events.push({ type: 'InvalidationPlanEnded', data: { invalidationId: recordId } });
      writes.push(writeTo(invalidationPlan, invalidationPlanId(recordId), 0, events));
    }
    return { recordId, guards, writes };
  }

  /** @throws RpcError BAD_REQUEST unless it is an address, or a range whose networks are stored. */
  private requireRange(condition: PlannedCondition | null): void {
    const range = condition?.clientAddress;
    if (range == null || networksIn(this.store.keyring, range)) return;
    const message =
      'must be an IP address or range: 192.0.2.0/24, 2001:db8::/48 (IPv6 ranges from /24 to /64, or from /120)';
    throw invalid([{ path: 'clientAddress', message }]);
  }

  /** @throws RpcError NOT_FOUND with the id that is not a signature of the petition. */
  private async choose(
    { organizationId, petitionId, signatureIds = [] }: InvalidateSignatures,
    condition: PlannedCondition | null,
  ): Promise<Choice> {
    const upTo = await this.store.horizon();
    await this.projections.catchUp(upTo);
    if (condition) return { petitionId, upTo, condition };
    const unknown =
      signatureIds.find((id) => !isId(id)) ??
      (await this.chosen.findUnknown(organizationId, petitionId, signatureIds))[0];
    if (unknown !== undefined) {
      throw new RpcError(
        'NOT_FOUND',
        `This petition has no signature ${unknown.slice(0, 100)}, and nothing was changed. Remove it from ` +
          'signatureIds.',
      );
    }
    return { petitionId, upTo, signatureIds };
  }
}

/** @throws RpcError BAD_REQUEST unless exactly one of the two ways selects signatures. */
function conditionOf({
  signatureIds,
  createdAfter,
  createdBefore,
  emailDomain,
  clientAddress,
  suspicion,
}: InvalidateSignatures): PlannedCondition | null {
  const momentOf = (text: string | undefined) => (text === undefined ? null : new Date(text).toISOString());
  const condition = {
    createdAfter: momentOf(createdAfter),
    createdBefore: momentOf(createdBefore),
    emailDomain: emailDomain?.replace(/^@/, '').toLowerCase() ?? null,
    clientAddress: clientAddress ?? null,
    suspicion: suspicion ?? null,
  };
  const hasCondition = Object.values(condition).some((value) => value !== null);
  if (hasCondition === (signatureIds !== undefined)) {
    throw invalid([
      { path: 'signatureIds', message: 'or conditions are required: send one of them, not both' },
    ]);
  }
  return hasCondition ? condition : null;
}

/** The condition in the format of the events, which lacks the newer fields. */
function withoutPlanned({
  createdAfter,
  createdBefore,
  emailDomain,
}: PlannedCondition): InvalidationCondition {
  return { createdAfter, createdBefore, emailDomain };
}
