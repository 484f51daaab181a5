import { v7 as uuidv7 } from 'uuid';
import { messageIdOf, readMessageId } from './message-builder.js';

it('encodes the broadcast and the recipient in a message id that fits on one line', () => {
  for (let n = 0; n < 100; n += 1) {
    const [broadcastId, contactId] = [uuidv7(), uuidv7()];
    const id = messageIdOf(broadcastId, contactId);
    const header = `Message-ID: <${id}@campaigns.example.org>`;
    expect(header.length).toBeLessThanOrEqual(80);
    expect(`${id}@campaigns.example.org`.length).toBeLessThanOrEqual(70);
    expect(readMessageId(`<${id}@rivers.example>`)).toEqual({ broadcastId, contactId });
  }
});

it('reads message ids of earlier versions, and rejects all others', () => {
  const [broadcastId, contactId] = [uuidv7(), uuidv7()];
  expect(readMessageId(`broadcast.${broadcastId}.${contactId}@rivers.example`)).toEqual({
    broadcastId,
    contactId,
  });
  for (const other of ['x@y', `invitation.${contactId}@rivers.example`, `b${'x'.repeat(42)}@rivers.example`])
    expect(readMessageId(other)).toBeUndefined();
});
