import { type Decider } from '#libs/event-store';

export type PetitionDeliveryEvent = {
  type: 'PetitionDelivered';
  data: {
    petitionId: string;
    /** The numbers in the document. */
    signatures: number;
    offlineSignatures: number;
    /** Whether it names the signers. */
    contacts: boolean;
  };
};

/** A document to hand over a petition was downloaded. Each download has its own stream, which is not a record and has no state. */
export const petitionDelivery = {
  streamType: 'petition-delivery',
  events: { PetitionDelivered: true },
} as const satisfies Pick<Decider<never, PetitionDeliveryEvent>, 'streamType' | 'events'>;
