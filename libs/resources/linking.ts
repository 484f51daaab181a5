import { type Commands, type Decision, type Outcome, type RecordReader } from '#libs/commands';
import { type JsonObject } from '#libs/event-store';
import { type Input, RpcError } from '#libs/rpc';
import { type Resource } from './resource.js';
import { idIn } from './resources.js';

/** Looks up the people to whom records are linked. */
export interface Subjects {
  /** Returns the ids that do not belong to people of this organization. */
  findUnknown(organizationId: string, ids: readonly string[]): Promise<string[]>;
  /** Returns the unknown ids that belong to erased people. */
  findErased(organizationId: string, ids: readonly string[]): Promise<Set<string>>;
}

/** Fields of the first event of a new link. Each attempt to add the same link must use the same `linkId`. */
export type LinkDetails = { linkId: string; personal: JsonObject | null; more: JsonObject };

/**
 * `isNew`: whether the caller has just created this person. They are only looked up if storing their link fails.
 * `details`: by person.
 */
type Adding = {
  isNew?: (subjectId: string) => boolean;
  details?: ReadonlyMap<string, LinkDetails> | undefined;
};

/** Adds and removes links between records and people, many at a time. */
export class Linking {
  constructor(
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly subjects: Subjects,
  ) {}

  /**
   * Links the input's record to all of these people or to none. Existing links stay.
   *
   * @throws RpcError NOT_FOUND with the id of a person who does not exist.
   */
  add(
    resource: Resource,
    input: Input,
    subjectIds: readonly string[],
    { isNew = () => false, details }: Adding = {},
  ): Promise<Outcome> {
    return this.commands.run(input, (isRetry) =>
      this.decideToAdd(resource, input, subjectIds, isRetry ? { details, isRetry } : { isNew, details }),
    );
  }

  /**
   * Removes the links between the input's record and these people. People without a link are ignored.
   *
   * @throws RpcError NOT_FOUND with the id of a person who never existed.
   */
  remove(resource: Resource, input: Input, subjectIds: readonly string[]): Promise<Outcome> {
    return this.commands.run(input, (isRetry) => this.decideToRemove(resource, input, subjectIds, isRetry));
  }

  private async decideToAdd(
    resource: Resource,
    input: Input,
    subjectIds: readonly string[],
    { isNew = () => false, details, isRetry = false }: Adding & { isRetry?: boolean },
  ): Promise<Decision> {
    const { organizationId } = input;
    const link = resource.link!;
    const record = await this.guard(resource, input);
    const ids = [...new Set(subjectIds)];
    const known = ids.filter((id) => !isNew(id));
    const [unknown] = await this.subjects.findUnknown(organizationId, known);
    if (unknown !== undefined) throw noSuchSubject(resource, unknown, 'no one was added');

    const owners = await this.findLinks(resource, input, known);
    const linked = new Set(known.filter((_, index) => owners[index] !== undefined));
    // An earlier attempt may have begun a link that ended since. It does not begin again.
    const chosen = isRetry ? ids.flatMap((id) => details?.get(id)?.linkId ?? []) : [];
    const before = await this.records.loadMany(link.decider, organizationId, chosen);
    // If a concurrent request has just added one of these links or deleted a person, the command decides again.
    const begun = ids
      .filter((id) => !linked.has(id))
      .flatMap((id) => {
        const { linkId, personal, more } = details?.get(id) ?? {};
        const { version = 0 } = before.get(linkId ?? '') ?? {};
        if (version > 0) return [];
        return [link.begin(record.recordId, id, () => undefined, personal, more, linkId)];
      });
    return {
      ...record,
      writes: begun.map(({ write }) => write),
      claims: begun.map(({ claim }) => claim),
    };
  }

  private async decideToRemove(
    resource: Resource,
    input: Input,
    subjectIds: readonly string[],
    isRetry: boolean,
  ): Promise<Decision> {
    const { organizationId } = input;
    const link = resource.link!;
    const record = await this.guard(resource, input);
    const ids = [...new Set(subjectIds)];
    const absent = new Set(await this.subjects.findUnknown(organizationId, ids));
    const erased = await this.subjects.findErased(organizationId, [...absent]);
    const unknown = [...absent].find((id) => !erased.has(id));
    if (unknown !== undefined) throw noSuchSubject(resource, unknown, 'no one was removed');

    // The erasure of a person has ended or anonymized their links.
    const present = ids.filter((id) => !absent.has(id));
    const existing = await this.findLinks(resource, input, present);
    const ended = present.flatMap((id, index) => {
      const linkId = existing[index];
      return linkId === undefined ? [] : [{ linkId, ...link.end(linkId, record.recordId, id) }];
    });
    // Only an event unknown to this version can have changed an existing link. Then loading it throws.
    if (isRetry) {
      const linkIds = ended.map(({ linkId }) => linkId);
      await this.records.loadMany(link.decider, organizationId, linkIds);
    }
    return {
      ...record,
      writes: ended.map(({ write }) => write),
      releases: ended.map(({ release }) => release),
    };
  }

  /** The record's id and a guard on its version. @throws RpcError NOT_FOUND if it does not exist. */
  private async guard(
    resource: Resource,
    input: Input,
  ): Promise<Pick<Decision, 'recordId' | 'guards'> & { recordId: string }> {
    const recordId = idIn(input, resource);
    const { state, version } = await this.records.load(resource.decider, input.organizationId, recordId);
    resource.existing(state);
    return { recordId, guards: [{ streamId: recordId, version }] };
  }

  private findLinks(
    resource: Resource,
    input: Input,
    subjectIds: readonly string[],
  ): Promise<(string | undefined)[]> {
    const recordId = idIn(input, resource);
    const keys = subjectIds.map((id) => resource.link!.keyOf(recordId, id));
    return this.commands.findOwners(input.organizationId, keys);
  }
}

function noSuchSubject({ link }: Resource, id: string, consequence: string): RpcError {
  const { object } = link!.subject;
  return new RpcError(
    'NOT_FOUND',
    `No ${object} ${shortened(id)} exists in your organization: ${consequence}. Remove it from ${object}Ids.`,
  );
}

/** Limits how much of the input an error message repeats. */
function shortened(id: string): string {
  return id.length > 100 ? `${id.slice(0, 100)}…` : id;
}
