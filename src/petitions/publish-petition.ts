import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { ResourceCommands, type ResourceRecord } from '#libs/resources';
import { Id, Input, Operation } from '#libs/rpc';
import { publishPetition } from './petition.js';
import { petitions, petitionSchema } from './petitions.js';

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
  constructor(private readonly commands: ResourceCommands) {}

  execute(command: PublishPetition): Promise<ResourceRecord> {
    return this.commands.change(petitions, command, publishPetition);
  }
}
