import { changeHandler } from '#libs/resources';
import { Id, Input, Operation } from '#libs/rpc';
import { publishPetition } from './petition.js';
import { petitions, petitionSchema } from './petitions.js';

@Operation({
  method: 'POST',
  name: 'petition.publish-petition',
  object: 'petition',
  summary: 'Publish a petition',
  description:
    'A draft or a closed petition: from now on it takes signatures, until its `closesAt` where it has one. Publishing the published ' +
    'changes nothing.',
  answers: petitionSchema,
  reasons: ['PETITION_CLOSED'],
})
export class PublishPetition extends Input {
  @Id()
  petitionId!: string;
}

export const PublishPetitionHandler = changeHandler(PublishPetition, petitions, (state) =>
  publishPetition(state, new Date()),
);
