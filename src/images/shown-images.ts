import { Injectable, type OnModuleInit } from '@nestjs/common';
import { type RecordReader } from '#libs/commands';
import { type Decider, type DomainEvent, type Past } from '#libs/event-store';
import { type Resource, type ResourceRecord, Resources } from '#libs/resources';
import { PublicAddress } from '../config/index.js';
import { images } from './images.js';

export type ShowsImages = {
  /** The name of the record in the API. */
  object: string;
  decider: Decider<object, DomainEvent>;
  exists: (state: object) => boolean;
  find: (
    readers: { resources: Resources; records: RecordReader },
    organizationId: string,
    imageId: string,
    most: number,
  ) => Promise<{ id: string; name: string }[]>;
  takeOut: (state: object) => DomainEvent[];
};
const kinds: ShowsImages[] = [];
/** Kinds whose responses include the image. */
const filled: Resource[] = [];

/** The projection's column with the image's id. The field of the API is `imageId`. */
export const IMAGE_COLUMN = 'image_id';

/**
 * Lets records of a kind show an image. `imageId` must be an image of the organization, and responses include
 * it as `image`. Call it where the kind is declared. The kind's table must have an indexed column
 * `IMAGE_COLUMN`.
 *
 * @param takeOut returns the events that remove the image from a record.
 */
export function showImages<State extends object, Event extends DomainEvent>(
  resource: Resource<State, Event>,
  takeOut: (state: State) => Event[],
): void {
  filled.push(resource);
  kinds.push({
    object: resource.object,
    decider: resource.decider,
    exists: (state) => resource.exists(state as State),
    find: ({ resources }, organizationId, imageId, most) =>
      resources.having(resource, organizationId, IMAGE_COLUMN, imageId, most),
    takeOut: takeOut as unknown as ShowsImages['takeOut'],
  });
}

/** Like `showImages`, for kinds without a `Resource`. Their responses do not include the image. */
export function showImagesBy(kind: ShowsImages): void {
  kinds.push(kind);
}

export function thoseThatShowImages(): readonly ShowsImages[] {
  return kinds;
}

/** Completes responses: images get full URLs, and records that show an image get its details. */
@Injectable()
export class ShownImages implements OnModuleInit {
  constructor(
    private readonly resources: Resources,
    private readonly address: PublicAddress,
  ) {}

  onModuleInit(): void {
    this.resources.completeBy(images, (_organizationId, records) => {
      for (const image of records) Object.assign(image, this.addressed(image));
    });
    for (const resource of filled)
      this.resources.completeBy(resource, (organizationId, records, past) =>
        this.show(organizationId, records, past),
      );
  }

  private async show(organizationId: string, records: readonly ResourceRecord[], past?: Past): Promise<void> {
    const ids = new Set(records.flatMap(({ imageId }) => (typeof imageId === 'string' ? [imageId] : [])));
    const found = new Map(
      await Promise.all(
        [...ids].map(
          async (id) => [id, await this.resources.findAt(images, organizationId, id, past)] as const,
        ),
      ),
    );
    for (const record of records) {
      const image = found.get(record.imageId as string);
      if (!image) continue;
      const { name, alt, type } = image;
      record.image = { name, url: this.addressed(image).url, alt, type };
    }
  }

  private addressed({ url, variants }: ResourceRecord): { url: string; variants: object[] } {
    const whole = (path: unknown) => this.address.url + (path as string);
    return {
      url: whole(url),
      variants: (variants as { url: string }[]).map((variant) => ({ ...variant, url: whole(variant.url) })),
    };
  }
}
