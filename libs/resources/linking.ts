import { type Commands, type Decision, type Outcome, type RecordReader } from '#libs/commands';
import { type Input, RpcError } from '#libs/rpc';
import { type Resource } from './resource.js';
import { idIn } from './resources.js';

/** Who knows the persons that records are linked to. */
export interface Subjects {
  /** Which of these are none of this organization. */
  findUnknown(organizationId: string, ids: readonly string[]): Promise<string[]>;
  /** Which of these, that are none, were. */
  findErased(organizationId: string, ids: readonly string[]): Promise<Set<string>>;
}

/** Links records to persons and takes the links away, many at once. */
export class Linking {
  constructor(
    private readonly commands: Commands,
    private readonly records: RecordReader,
    private readonly subjects: Subjects,
  ) {}

  /**
   * Links the record that the input names to all of these or to none; who is linked already stays.
   *
   * @throws RpcError NOT_FOUND, naming the one that is none.
   */
  add(resource: Resource, input: Input, subjectIds: readonly string[]): Promise<Outcome> {
    return this.commands.run(input, () => this.decideToAdd(resource, input, subjectIds));
  }

  /**
   * Takes the links between the record that the input names and these away; who is not linked is left alone.
   *
   * @throws RpcError NOT_FOUND, naming who never was one.
   */
  remove(resource: Resource, input: Input, subjectIds: readonly string[]): Promise<Outcome> {
    return this.commands.run(input, (afresh) => this.decideToRemove(resource, input, subjectIds, afresh));
  }

  private async decideToAdd(
    resource: Resource,
    input: Input,
    subjectIds: readonly string[],
  ): Promise<Decision> {
    const { organizationId } = input;
    const link = resource.link!;
    const record = await this.hold(resource, input);
    const ids = [...new Set(subjectIds)];
    const [unknown] = await this.subjects.findUnknown(organizationId, ids);
    if (unknown !== undefined) throw noSuchSubject(resource, unknown, 'nobody was added');

    const standing = await this.findLinks(resource, input, ids);
    // Where somebody else has just added one it is decided again.
    const begun = ids
      .filter((_, index) => standing[index] === undefined)
      .map((id) => link.begin(record.recordId, id, () => undefined));
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
    afresh: boolean,
  ): Promise<Decision> {
    const { organizationId } = input;
    const link = resource.link!;
    const record = await this.hold(resource, input);
    const ids = [...new Set(subjectIds)];
    const gone = new Set(await this.subjects.findUnknown(organizationId, ids));
    const erased = await this.subjects.findErased(organizationId, [...gone]);
    const unknown = [...gone].find((id) => !erased.has(id));
    if (unknown !== undefined) throw noSuchSubject(resource, unknown, 'nobody was removed');

    // With their erasure the others' links have ended or lost their name.
    const present = ids.filter((id) => !gone.has(id));
    const standing = await this.findLinks(resource, input, present);
    const ended = present.flatMap((id, index) => {
      const linkId = standing[index];
      return linkId === undefined ? [] : [{ linkId, ...link.end(linkId, record.recordId, id) }];
    });
    // Only what this version does not know can have moved a link that stands.
    if (afresh) {
      const linkIds = ended.map(({ linkId }) => linkId);
      await this.records.loadMany(link.decider, organizationId, linkIds);
    }
    return {
      ...record,
      writes: ended.map(({ write }) => write),
      releases: ended.map(({ release }) => release),
    };
  }

  /** The record, as something to decide on that must stay as it is. @throws RpcError NOT_FOUND unless it stands. */
  private async hold(
    resource: Resource,
    input: Input,
  ): Promise<Pick<Decision, 'recordId' | 'guards'> & { recordId: string }> {
    const recordId = idIn(input, resource);
    const { state, version } = await this.records.load(resource.decider, input.organizationId, recordId);
    resource.standing(state);
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

/** An answer must not grow with the rubbish that was sent. */
function shortened(id: string): string {
  return id.length > 100 ? `${id.slice(0, 100)}…` : id;
}
