import { getHandler } from '#libs/resources';
import { Id, Input, Operation, Timestamp } from '#libs/rpc';
import { invalidations, invalidationSchema } from './invalidations.js';

@Operation({
  method: 'GET',
  name: 'petition.get-invalidation',
  object: 'invalidation',
  summary: 'Retrieve an invalidation of signatures',
  description: 'How far it is, and what it was meant for.',
  answers: invalidationSchema,
})
export class GetInvalidation extends Input {
  @Id()
  invalidationId!: string;

  @Timestamp({ optional: true, description: 'The invalidation as it was at this moment.' })
  asOf?: string;
}

export const GetInvalidationHandler = getHandler(GetInvalidation, invalidations);
