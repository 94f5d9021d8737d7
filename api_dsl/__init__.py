"""The interface of LCI as data. codegen/ generates headers, sources and the reference from `API`."""

from api_dsl import (allocation, atomics, collectives, communication, completion, enums,
                     environment, network, peers, resources, setup)
from api_dsl.schema import Api

API = Api(
    enums=enums.ALL,
    aliases=resources.ALIASES,
    constants=resources.CONSTANTS,
    resources=resources.ALL,
    operations=(setup.OPERATIONS + communication.OPERATIONS + atomics.OPERATIONS +
                completion.OPERATIONS + allocation.OPERATIONS + network.OPERATIONS +
                peers.OPERATIONS + collectives.OPERATIONS),
    functions=setup.FUNCTIONS,
    variables=environment.VARIABLES,
)
