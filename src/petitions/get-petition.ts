import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { RecordReader } from '#libs/commands';
import { Id, Input, Operation, PastRecord, Timestamp } from '#libs/rpc';
import { petitionRecord, type PetitionRecord, petitionSchema } from './petition-record.js';
import { petition, standingPetition } from './petition.js';
import { PetitionsTable } from './petitions.projection.js';

@Operation({
  method: 'GET',
  name: 'petition.get-petition',
  object: 'petition',
  summary: 'Retrieve a petition',
  answers: petitionSchema,
})
export class GetPetition extends Input {
  @Id()
  petitionId!: string;

  @Timestamp({ optional: true, description: 'The petition as it was at this moment.' })
  asOf?: string;
}

@QueryHandler(GetPetition)
export class GetPetitionHandler implements IQueryHandler<GetPetition> {
  constructor(
    private readonly records: RecordReader,
    private readonly petitions: PetitionsTable,
  ) {}

  async execute({
    organizationId,
    petitionId,
    asOf,
  }: GetPetition): Promise<PetitionRecord | PastRecord<PetitionRecord>> {
    const record = asOf === undefined ? await this.petitions.find(organizationId, petitionId) : undefined;
    if (record) return record;
    const past = await this.records.past(asOf);
    const folded = await this.records.look(petition, organizationId, petitionId, past);
    standingPetition(folded.state);
    if (!past) {
      const signatures = await this.petitions.countSignatures(organizationId, petitionId);
      return petitionRecord(organizationId, petitionId, folded, signatures);
    }
    const signatures = await this.petitions.countSignaturesAt(organizationId, petitionId, past);
    return new PastRecord(petitionRecord(organizationId, petitionId, folded, signatures), past);
  }
}
