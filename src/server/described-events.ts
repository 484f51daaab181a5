import { type OpenAPIObject } from '@nestjs/swagger';
import { allEventTypes } from '#libs/modules';
import { EVENT_SCHEMAS } from './event-schemas.js';

const TEST_TYPE = 'webhook.test';

/** A record that webhooks deliver next to the event on request. */
const expanded = (record: string) => ({
  description: `Only with \`expand\`. null: the event names none, or it no longer exists.`,
  oneOf: [{ $ref: `#/components/schemas/${record}` }, { type: 'null' }],
});

/**
 * Adds the `webhooks` section: the request for each event type. Its schema has the name of the type. The fields that all events
 * have are in `WebhookEvent`.
 */
export function describeEvents(document: OpenAPIObject): void {
  const schemas = document.components!.schemas!;
  schemas.WebhookEvent = {
    allOf: [
      { $ref: '#/components/schemas/Event' },
      {
        type: 'object',
        properties: {
          organizationId: { type: 'string', format: 'uuid' },
          contact: expanded('Contact'),
          petition: expanded('Petition'),
        },
        required: ['organizationId'],
      },
    ],
  };
  const types = [...allEventTypes(), { type: TEST_TYPE, streamType: 'webhook', isInternal: false }];
  document.webhooks = Object.fromEntries(
    types.map(({ type, streamType, isInternal }) => {
      const name = type === TEST_TYPE ? 'TestEvent' : type;
      // A new type has no schema until `npm run reference` adds it.
      const { description: summary = type, ...data } = EVENT_SCHEMAS[type] ?? { type: 'object' };
      schemas[name] = {
        allOf: [
          { $ref: '#/components/schemas/WebhookEvent' },
          {
            type: 'object',
            properties: {
              type: { type: 'string', enum: [type] },
              recordType: { type: 'string', enum: [streamType] },
              data,
            },
          },
        ],
      };
      const content = { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } };
      const responses = {
        '200': { description: 'Processed or stored, like all of 2xx.' },
        '401': {
          description: 'The signature is wrong. The event is sent again later, as after all other responses.',
        },
      };
      const operationId = `on${name}`;
      const request = {
        operationId,
        summary,
        tags: ['webhook'],
        security: [],
        requestBody: { required: true, content },
        responses,
        ...(isInternal && { 'x-internal': true }),
      };
      return [type, { post: request }];
    }),
  );
}
