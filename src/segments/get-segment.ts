import { getHandler } from '#libs/resources';
import { Id, Input, Operation, Timestamp } from '#libs/rpc';
import { segments, segmentSchema } from './segments.js';

@Operation({
  method: 'GET',
  name: 'segment.get-segment',
  object: 'segment',
  summary: 'Retrieve a segment',
  description:
    'To list its contacts, use contact.list-contacts with `segmentId`. To count them, use segment.preview-segment.',
  answers: segmentSchema,
})
export class GetSegment extends Input {
  @Id()
  segmentId!: string;

  @Timestamp({ optional: true, description: 'Returns the segment as it was at this time.' })
  asOf?: string;
}

export const GetSegmentHandler = getHandler(GetSegment, segments);
