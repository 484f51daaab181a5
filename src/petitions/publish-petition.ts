import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Commands, Requests } from '#libs/commands';
import { Id, Input, Operation } from '#libs/rpc';
import { petitionRecord, type PetitionRecord, petitionSchema } from './petition-record.js';
import { petition, publishPetition } from './petition.js';
import { PetitionsTable } from './petitions.projection.js';

@Operation({
  method: 'POST',
  name: 'petition.publish-petition',
  object: 'petition',
  summary: 'Publish a petition',
  description:
    'A draft or a closed petition: from now on it takes signatures. Publishing the published changes nothing.',
  answers: petitionSchema,
})
export class PublishPetition extends Input {
  @Id()
  petitionId!: string;
}

@CommandHandler(PublishPetition)
export class PublishPetitionHandler implements ICommandHandler<PublishPetition> {
  constructor(
    private readonly commands: Commands,
    private readonly requests: Requests,
    private readonly petitions: PetitionsTable,
  ) {}

  async execute(command: PublishPetition): Promise<PetitionRecord> {
    const { organizationId, petitionId } = command;
    const changed = await this.commands.change(petition, command, petitionId, publishPetition);
    const count = () => this.petitions.countSignatures(organizationId, petitionId);
    const signatures = await this.requests.figure(command, count);
    return petitionRecord(organizationId, petitionId, changed, signatures);
  }
}
