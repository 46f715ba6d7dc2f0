"""The feature gates of kube-scheduler 1.37: defaults, stages, and what depends on what."""

from __future__ import annotations

from typing import NamedTuple


class Gate(NamedTuple):
    """One feature gate.

    Attributes
    ----------
    is_on : bool
        The default.
    stage : str
        Alpha, Beta, GA or Deprecated.
    is_locked : bool
        Whether the default is the only value.
    depends_on : tuple[str, ...]
        Gates that have to be on when this one is.
    """

    is_on: bool
    stage: str
    is_locked: bool = False
    depends_on: tuple[str, ...] = ()


_NAMES: dict[Gate, str] = {
    Gate(is_on=False, stage="Alpha"): """
        APIServerWebhookAuthenticationToken APIServingWithRoutine AtomicWriteVolumeUserFields
        CBORServingAndStorage CPUManagerPolicyAlphaOptions CRIListStreaming CSIVolumeHealth ClientsAllowCBOR
        ClientsPreferCBOR CloudControllerManagerWatchBasedRoutesReconciliation CloudControllerManagerWebhook
        CompositePodGroup ConsistentListFromCacheSkipTimeoutFallback ContainerStopSignals
        CrossNamespaceVolumeDataSource DRADerivedAttributes DRADeviceCompatibilityGroups DRAListTypeAttributes
        DRANodeAllocatableResources DRAOptionalNodeOperations DRAPartitionableDevicesType
        DRAResourcePoolStatus DefaultPodSysctls EmptyDirVolumeMode EventedPLEG EvictionRequestAPI
        GRPCContainerProbeTLS H2CContainerProbe ImageVolumeWithDigest InPlacePodVerticalScalingExclusiveCPUs
        InPlacePodVerticalScalingExclusiveMemory InPlacePodVerticalScalingMemoryBackedVolumes
        InPlacePodVerticalScalingSchedulerPreemption InterPodAffinityHostnameFastPath
        KubeProxyNFTablesLocalhostNodePorts KubeletAllocatedPodsEndpoint LoggingAlphaOptions
        MutablePVNodeAffinity NodeLifecycleConditions PodGroupPreemptionPolicy PodLogsQuerySplitStreams
        QOSReserved ReduceDefaultCrashLoopBackOffDecay RuntimeClassInImageCriApi SchedulerPreQueueingHints
        ShardedListAndWatch StatefulSetRecreateStrategy StorageVersionAPI TaintTolerationComparisonOperators
        TopologyAwareWorkloadScheduling TopologyManagerPolicyAlphaOptions UserNamespacesHostNetworkSupport
        VolumeBindMountOptions WindowsCPUAndMemoryAffinity WorkloadWithJob
    """,
    Gate(is_on=True, stage="Beta"): """
        APIResponseCompression APIServerIdentity AllowParsingUserUIDFromCertAuth
        AllowUnsafeMalformedObjectDeletion AtomicFIFO AuthorizePodWebsocketUpgradeCreatePermission
        CPUManagerPolicyBetaOptions CRDObservedGenerationTracking ClearingNominatedNodeNameAfterBinding
        ClientsAllowCARotation ClientsAllowTLSCacheGC ComponentFlagz ComponentStatusz
        ConcurrentWatchObjectDecode ConstrainedImpersonation ContainerCheckpoint ContainerRestartRules
        ContextualLogging DRAConsumableCapacity DRADeviceBindingConditions DRAFractionalCapacityRange
        DRAPartitionableDevices DRAResourceClaimGranularStatusAuthorization DRASchedulerFilterTimeout
        DeclarativeValidationBeta DeploymentReplicaSetTerminatingReplicas DetectCacheInconsistency EnvFiles
        EtcdRangeStream ExcludeAdmissionWebhookVirtualResources ExtendWebSocketsToKubelet GracefulNodeShutdown
        GracefulNodeShutdownBasedOnPodPriority HPAGeneration HPAOptimizedSelectorStore HPAScaleToZero
        HugepageAwareEviction InOrderInformersBatchProcess InPlacePodLevelResourcesVerticalScaling
        KubeletCrashLoopBackOffMax KubeletEnsureSecretPulledImages KubeletInUserNamespace
        KubeletSeparateDiskGC KubeletServiceAccountTokenForCredentialProviders ListFromCacheSnapshot
        LoggingBetaOptions ManifestBasedAdmissionControlConfig MatchLabelKeysInPodTopologySpread
        MatchLabelKeysInPodTopologySpreadSelectorMerge MaxUnavailableStatefulSet MemoryQoS
        MutablePodResourcesForSuspendedJobs MutableSchedulingDirectivesForSuspendedJobs NFTablesNetlink
        NativeHistograms NodeControllerLeaseCircuitBreaker NominatedNodeNameForExpectation OpenAPIEnums
        OpportunisticBatching PersistentVolumeClaimUnusedSinceTime PodDeletionCost PodLevelResources
        PodLevelResourcesFixDefaulting PodLevelResourcesFixKubeletQOSClass PodTopologyLabelsAdmission PodsAPI
        PortForwardWebsockets ReloadKubeletClientCAFile ReloadKubeletServerCertificateFile
        RemoteRequestHeaderUID ResourceHealthStatus ResourceHealthStatusMessage
        RestartAllContainersOnContainerExits RotateKubeletServerCertificate SchedulerAsyncPreemption
        SchedulerPopFromBackoffQ ServiceAccountNodeAudienceRestriction SizeBasedListCostEstimate
        StaleControllerConsistencyDaemonSet StaleControllerConsistencyHPA StaleControllerConsistencyJob
        StaleControllerConsistencyReplicaSet StaleControllerConsistencyStatefulSet
        StatefulSetSemanticRevisionComparison StorageCapacityScoring StorageVersionHash StrictIPCIDRValidation
        StructuredAuthenticationConfigurationEgressSelector StructuredAuthenticationConfigurationJWKSMetrics
        TokenRequestServiceAccountUIDValidation TopologyManagerPolicyBetaOptions
        TranslateStreamCloseWebsocketRequests UnauthenticatedHTTP2DOSMitigation
        UnknownVersionInteroperabilityProxy UnlockWhileProcessingFIFO VolumeLimitScaling WatchList
        WatchListClient WatchListCompression WebhookRoundTripLoadBalancing WindowsGracefulNodeShutdown
    """,
    Gate(is_on=False, stage="Beta"): """
        CoordinatedLeaderElection DRAWorkloadResourceClaims GenericWorkload
        LocalStorageCapacityIsolationFSQuotaMonitoring PodAndContainerStatsFromCRI PodLevelResourceManagers
        SchedulerAsyncAPICalls
    """,
    Gate(is_on=True, stage="GA"): """
        AllowServiceExternalIPs ClusterTrustBundle ClusterTrustBundleProjection CustomCPUCFSQuotaPeriod
        DRADeviceTaintRules DRADeviceTaints InformerResourceVersion MutatingAdmissionPolicy
        PodCertificateRequest SELinuxMount StorageVersionMigrator
    """,
    Gate(is_on=True, stage="GA", is_locked=True): """
        CPUManagerPolicyOptions CRDValidationRatcheting CSIServiceAccountTokenSecrets
        CustomResourceFieldSelectors DRAAdminAccess DRAExtendedResource DRAPrioritizedList
        DRAResourceClaimDeviceStatus DeclarativeValidation DisableAllocatorDualWrite DynamicResourceAllocation
        ExecProbeTimeout ExternalServiceAccountTokenSigner HPAConfigurableTolerance HostnameOverride
        ImageMaximumGCAge ImageVolume InOrderInformers InPlacePodVerticalScaling
        InPlacePodVerticalScalingInitContainers JobManagedBy KubeletCgroupDriverFromCRI
        KubeletFineGrainedAuthz KubeletPSI KubeletPodResourcesDynamicResources KubeletPodResourcesGet
        KubeletTracing MatchLabelKeysInPodAffinity MultiCIDRServiceAllocator
        MutableCSINodeAllocatableCount NFTablesProxyMode NodeDeclaredFeatures
        NodeInclusionPolicyInPodTopologySpread NodeLogQuery NodeSwap PLEGOnDemandRelist
        PodObservedGenerationTracking PodReadyToStartContainersCondition PodSchedulingReadiness
        PreferSameTrafficDistribution ProcMountType RecoverVolumeExpansionFailure RecursiveReadOnlyMounts
        RelaxedEnvironmentVariableValidation RelaxedServiceNameValidation SELinuxChangePolicy
        SELinuxMountReadWriteOncePod SeparateTaintEvictionController ServiceAccountTokenJTI
        ServiceAccountTokenNodeBinding ServiceAccountTokenNodeBindingValidation ServiceAccountTokenPodNodeInfo
        SupplementalGroupsPolicy SystemdWatchdog TopologyManagerPolicyOptions UserNamespacesSupport
        VolumeAttributesClass WatchCacheInitializationPostStartHook WinDSR WinOverlay
    """,
    Gate(is_on=True, stage="Deprecated"): """
        KubeProxyIPVS KubeletPodResourcesListUseActivePods ServiceCIDRStatusFieldWiping StorageNamespaceIndex
    """,
    Gate(is_on=True, stage="Deprecated", is_locked=True): """
        AggregatedDiscoveryRemoveBetaType DisableCPUQuotaWithExclusiveCPUs DisableNodeKubeProxyVersion
    """,
    Gate(is_on=False, stage="Deprecated"): """
        AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests
        ChangeContainerStatusOnKubeletRestart KMSv1 KubeletRegistrationGetOnExistsOnly WindowsHostNetwork
    """,
    Gate(is_on=False, stage="Deprecated", is_locked=True): """
        AllowOverwriteTerminationGracePeriodSeconds DeclarativeValidationTakeover GitRepoVolumeDriver
        SeparateCacheWatchRPC
    """,
}
"""Names of the gates that share a stage and a default."""

_DEPENDS_ON: dict[str, str] = {
    "ClusterTrustBundleProjection": "ClusterTrustBundle",
    "CompositePodGroup": "GenericWorkload TopologyAwareWorkloadScheduling",
    "DRAAdminAccess": "DynamicResourceAllocation",
    "DRAConsumableCapacity": "DynamicResourceAllocation",
    "DRADerivedAttributes": "DynamicResourceAllocation",
    "DRADeviceBindingConditions": "DRAResourceClaimDeviceStatus DynamicResourceAllocation",
    "DRADeviceCompatibilityGroups": "DRAPartitionableDevices DynamicResourceAllocation",
    "DRADeviceTaintRules": "DRADeviceTaints",
    "DRADeviceTaints": "DynamicResourceAllocation",
    "DRAExtendedResource": "DynamicResourceAllocation",
    "DRAFractionalCapacityRange": "DRAConsumableCapacity",
    "DRAListTypeAttributes": "DynamicResourceAllocation",
    "DRANodeAllocatableResources": "DynamicResourceAllocation",
    "DRAOptionalNodeOperations": "DynamicResourceAllocation NodeDeclaredFeatures",
    "DRAPartitionableDevices": "DynamicResourceAllocation",
    "DRAPartitionableDevicesType": "DRAPartitionableDevices DRAResourcePoolStatus DynamicResourceAllocation",
    "DRAPrioritizedList": "DynamicResourceAllocation",
    "DRAResourceClaimGranularStatusAuthorization": "DRAResourceClaimDeviceStatus DynamicResourceAllocation",
    "DRAResourcePoolStatus": "DynamicResourceAllocation",
    "DRASchedulerFilterTimeout": "DynamicResourceAllocation",
    "DRAWorkloadResourceClaims": "DynamicResourceAllocation GenericWorkload",
    "DeclarativeValidationBeta": "DeclarativeValidation",
    "DeclarativeValidationTakeover": "DeclarativeValidation",
    "DisableAllocatorDualWrite": "MultiCIDRServiceAllocator",
    "EventedPLEG": "PLEGOnDemandRelist",
    "ExtendWebSocketsToKubelet": "NodeDeclaredFeatures",
    "GracefulNodeShutdownBasedOnPodPriority": "GracefulNodeShutdown",
    "H2CContainerProbe": "NodeDeclaredFeatures",
    "ImageVolumeWithDigest": "ImageVolume",
    "InPlacePodLevelResourcesVerticalScaling": "InPlacePodVerticalScaling NodeDeclaredFeatures PodLevelResources",
    "InPlacePodVerticalScalingExclusiveCPUs": "InPlacePodVerticalScaling",
    "InPlacePodVerticalScalingExclusiveMemory": "InPlacePodVerticalScaling",
    "InPlacePodVerticalScalingInitContainers": "InPlacePodVerticalScaling NodeDeclaredFeatures",
    "InPlacePodVerticalScalingMemoryBackedVolumes": "InPlacePodVerticalScaling NodeDeclaredFeatures",
    "InPlacePodVerticalScalingSchedulerPreemption": "InPlacePodVerticalScaling",
    "KubeletAllocatedPodsEndpoint": "InPlacePodVerticalScaling",
    "MatchLabelKeysInPodTopologySpreadSelectorMerge": "MatchLabelKeysInPodTopologySpread",
    "NodeControllerLeaseCircuitBreaker": "AtomicFIFO",
    "PodGroupPreemptionPolicy": "GenericWorkload",
    "PodLevelResourceManagers": "PodLevelResources",
    "PodLevelResourcesFixDefaulting": "PodLevelResources",
    "PodLevelResourcesFixKubeletQOSClass": "PodLevelResources",
    "ProcMountType": "UserNamespacesSupport",
    "ResourceHealthStatus": "DynamicResourceAllocation",
    "ResourceHealthStatusMessage": "ResourceHealthStatus",
    "RestartAllContainersOnContainerExits": "ContainerRestartRules NodeDeclaredFeatures",
    "ServiceAccountTokenNodeBinding": "ServiceAccountTokenNodeBindingValidation",
    "StaleControllerConsistencyDaemonSet": "AtomicFIFO",
    "StaleControllerConsistencyHPA": "AtomicFIFO",
    "StaleControllerConsistencyJob": "AtomicFIFO",
    "StaleControllerConsistencyReplicaSet": "AtomicFIFO",
    "StaleControllerConsistencyStatefulSet": "AtomicFIFO",
    "StorageVersionAPI": "APIServerIdentity",
    "TopologyAwareWorkloadScheduling": "GenericWorkload",
    "UnknownVersionInteroperabilityProxy": "APIServerIdentity",
    "UserNamespacesHostNetworkSupport": "NodeDeclaredFeatures UserNamespacesSupport",
    "WindowsGracefulNodeShutdown": "GracefulNodeShutdown",
    "WorkloadWithJob": "GenericWorkload",
}

FEATURE_GATES: dict[str, Gate] = {
    name: gate._replace(depends_on=tuple(_DEPENDS_ON.get(name, "").split()))
    for gate, names in _NAMES.items()
    for name in names.split()
}
"""All gates that kube-scheduler accepts, by name; AllAlpha and AllBeta, which stand for many, are not among them."""
