import { getHandler } from '#libs/resources';
import { Operation, PastInput } from '#libs/rpc';
import { segments, segmentSchema } from './segments.js';

@Operation({
  name: 'segment.get-segment',
  summary: 'Retrieve a segment',
  description:
    'To list its contacts, use contact.list-contacts with `segmentId`. To count them, use segment.preview-segment.',
  answers: segmentSchema,
})
export class GetSegment extends PastInput('segmentId', 'segment') {}

export const GetSegmentHandler = getHandler(GetSegment, segments);
