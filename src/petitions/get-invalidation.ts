import { getHandler } from '#libs/resources';
import { Id, Input, Operation, Timestamp } from '#libs/rpc';
import { invalidations, invalidationSchema } from './invalidations.js';

@Operation({
  method: 'GET',
  name: 'petition.get-invalidation',
  object: 'invalidation',
  summary: 'Retrieve an invalidation of signatures',
  description: 'Returns its progress and the conditions it was created with.',
  answers: invalidationSchema,
})
export class GetInvalidation extends Input {
  @Id()
  invalidationId!: string;

  @Timestamp({ optional: true, description: 'Returns the invalidation as it was at this time.' })
  asOf?: string;
}

export const GetInvalidationHandler = getHandler(GetInvalidation, invalidations);
