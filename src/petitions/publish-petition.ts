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
    'Publishes a draft or a closed petition. It accepts signatures until `closesAt`, if set. The outcome of ' +
    'a closed petition is deleted. Publishing a published petition changes nothing.',
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
