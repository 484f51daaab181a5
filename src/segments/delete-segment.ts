import { deleteHandler } from '#libs/resources';
import { Operation, RecordInput } from '#libs/rpc';
import { deleteSegment } from './segment.js';
import { segmentIdSchema, segments } from './segments.js';

@Operation({
  name: 'segment.delete-segment',
  summary: 'Delete a segment',
  description: 'Its contacts are kept.',
  answers: segmentIdSchema,
})
export class DeleteSegment extends RecordInput('segmentId') {}

export const DeleteSegmentHandler = deleteHandler(DeleteSegment, segments, deleteSegment);
