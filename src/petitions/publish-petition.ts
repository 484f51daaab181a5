import { changeHandler } from '#libs/resources';
import { Operation, RecordInput } from '#libs/rpc';
import { publishPetition } from './petition.js';
import { petitions, petitionSchema } from './petitions.js';

@Operation({
  name: 'petition.publish-petition',
  summary: 'Publish a petition',
  description:
    'Publishes a draft or a closed petition. It accepts signatures until `closesAt`, if set. The outcome of ' +
    'a closed petition is deleted. Publishing a published petition changes nothing.',
  answers: petitionSchema,
  reasons: ['PETITION_CLOSED'],
})
export class PublishPetition extends RecordInput('petitionId') {}

export const PublishPetitionHandler = changeHandler(PublishPetition, petitions, (state) =>
  publishPetition(state, new Date()),
);
