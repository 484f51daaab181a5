import { RecordReader } from '#libs/commands';
import { handlerOf, Id, noSuch, Operation, RecordInput, recordSchema } from '#libs/rpc';
import { contact } from '../contacts/index.js';
import { broadcast, existingBroadcast } from './broadcast.js';
import { MessageBuilder, notShowable, type Recipient } from './message-builder.js';

/** Gmail hides the end of emails of more than 102 KB, with the unsubscribe link. Personal values add to the preview. */
const LARGE_BYTES = 80 * 1024;

@Operation({
  name: 'broadcast.preview-broadcast',
  object: 'preview',
  summary: 'Preview a broadcast',
  description:
    'Returns the subject, HTML and plain text as the contact would receive them, or as a contact without any ' +
    'details would. The unsubscribe link works only if your key has `contact:write`; otherwise it is only an ' +
    'example.',
  answers: recordSchema({
    broadcastId: { type: 'string' },
    subject: { type: 'string' },
    html: { type: 'string' },
    text: { type: 'string' },
    bytes: { type: 'integer', description: 'Size of the HTML.' },
    warnings: {
      type: 'array',
      description: '`MAY_BE_CLIPPED`: the HTML has more than 80 KB. Gmail hides everything after 102 KB.',
      items: recordSchema({
        warning: { type: 'string', enum: ['MAY_BE_CLIPPED'] },
        message: { type: 'string' },
      }),
    },
  }),
  reasons: ['BROADCAST_NOT_READY'],
  fieldScopes: { contactId: 'contact:read' },
})
export class PreviewBroadcast extends RecordInput('broadcastId') {
  @Id({ optional: true })
  contactId?: string;
}

export const PreviewBroadcastHandler = handlerOf(
  PreviewBroadcast,
  [RecordReader, MessageBuilder],
  async ({ organizationId, broadcastId, contactId, context }, records, messageBuilder) => {
    const { state } = await records.look(broadcast, organizationId, broadcastId);
    const fields = existingBroadcast(state);
    let recipient: Recipient | null = null;
    if (contactId !== undefined) {
      const folded = await records.look(contact, organizationId, contactId);
      if (folded.state.status !== 'standing') throw noSuch('contact');
      const { details, customFields } = folded.state;
      recipient = { id: contactId, ...details, customFields };
    }
    const { writing, blockers } = await messageBuilder.prepare(organizationId, broadcastId, fields);
    if (!writing) throw notShowable(blockers);
    const { subject, html, text } = await messageBuilder.show(writing, recipient, context.scopes);
    const bytes = Buffer.byteLength(html);
    const message =
      `The email has ${Math.ceil(bytes / 1024)} KB. Gmail hides everything after 102 KB, including the unsubscribe ` +
      'link. Shorten it.';
    const warnings = bytes > LARGE_BYTES ? [{ warning: 'MAY_BE_CLIPPED' as const, message }] : [];
    return { broadcastId, subject, html, text, bytes, warnings };
  },
);
